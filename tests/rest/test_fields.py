"""Fields take what the schema says, and nothing else."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import Field

from rest import fields
from rest.fields import Sign

INTEGER = fields.Integer(min_value=0, max_value=10)
MONEY = fields.Amount(max_digits=5, decimal_places=2)
WEIGHT = fields.Amount(max_digits=5, decimal_places=2, sign=Sign.POSITIVE)


@pytest.mark.parametrize(
    ("field", "given_", "taken"),
    [
        (INTEGER, 0, 0),
        (INTEGER, 10, 10),
        (INTEGER, 3.0, 3),
        (fields.Integer(), 2**63 - 1, 2**63 - 1),
        (fields.Number(), 1, 1.0),
        (fields.Number(), 1e300, 1e300),
        (fields.Boolean(), True, True),
        (fields.Text(), "  kept  ", "  kept  "),
        (fields.Text(max_length=2), "\U0001f600é", "\U0001f600é"),
        (fields.Slug(), "a-1", "a-1"),
        (fields.Choice(["a", "b"]), "b", "b"),
        (MONEY, "-999.99", Decimal("-999.99")),
        (MONEY, "0", Decimal(0)),
        (WEIGHT, "0.01", Decimal("0.01")),
        (fields.JsonObject(), {"a": [1, None]}, {"a": [1, None]}),
        (fields.Items(child=fields.Integer()), [1, 2], [1, 2]),
    ],
)
def test_taken(field: Any, given_: Any, taken: Any) -> None:
    assert field.run_validation(given_) == taken


REFUSED: list[tuple[Any, list[Any]]] = [
    (INTEGER, [-1, 11, "5", True, 1.5, None, [], {}, 10**30, 1e308]),
    (fields.Integer(), [2**63, -(2**63) - 1]),
    (fields.Number(), ["1", True, None, 10**400]),
    (fields.Boolean(), [1, 0, "true", "yes", None, []]),
    (fields.Text(), [5, True, None, "", [], {}, "x" * 1001]),
    (fields.Slug(), ["A", "-a", "a-", "a_b", "a\n", "", "x" * 64, 5]),
    (fields.Choice(["a", "1"]), ["c", 1, True, None, ["a"], ""]),
    (MONEY, [1, 0.5, "1e2", "1.", ".5", "+1", " 1", "1\n", "01", "NaN"]),
    (MONEY, ["1000", "0.001", "٣", "Infinity", "", None, True]),
    (WEIGHT, ["0", "0.00", "-1"]),
    (fields.JsonObject(), [[], "x", 5, {"a": "x" * 70_000}]),
    (fields.Items(child=fields.Integer(), max_length=1), [[1, 2], {}, "1", ["1"]]),
]


@pytest.mark.parametrize(
    ("field", "refused"), [(field, value) for field, values in REFUSED for value in values]
)
def test_refused(field: Any, refused: Any) -> None:
    with pytest.raises(ValidationError):
        field.run_validation(refused)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31t08:00:00z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("2026-01-31T08:00:00.5+02:00", datetime(2026, 1, 31, 6, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-31T08:00:00.123456789Z", datetime(2026, 1, 31, 8, 0, 0, 123_456, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),  # a leap second
    ],
)
def test_instants(text: str, at: datetime) -> None:
    assert fields.Instant().run_validation(text) == at


@pytest.mark.parametrize(
    "text",
    ["2026-01-31", "2026-01-31T08:00:00", "2026-01-31 08:00:00Z", "2026-02-30T00:00:00Z",
     "2026-01-31T24:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:60Z", "now", 5, None,
     "2026-01-31T08:00:00+25:00", "\uff12026-01-31T08:00:00Z", ""],
)  # fmt: skip
def test_no_instants(text: Any) -> None:
    with pytest.raises(ValidationError):
        fields.Instant().run_validation(text)


@given(st.decimals(min_value=-999, max_value=999, places=2))
def test_amounts_come_back_as_they_went(value: Decimal) -> None:
    text = MONEY.to_representation(value)
    assert MONEY.run_validation(text.replace("-0.00", "0.00")) == value


@pytest.mark.parametrize("field", [fields.Text(read_only=True), fields.Items(read_only=True)])
def test_output_is_not_bounded_by_input_defaults(field: Field[Any, Any, Any, Any]) -> None:
    assert getattr(field, "max_length", None) is None
