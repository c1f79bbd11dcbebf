"""Structs at the door: what they take, how every fault is named, what they show and publish."""

from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import msgspec
import pytest
from django.db import models
from hypothesis import given as drawn
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from rest.json import encode
from rest.problems import Invalid
from rest.structs import (
    From,
    Id,
    Input,
    Instant,
    JsonObject,
    Number,
    Output,
    Sign,
    Slug,
    amount,
    given,
    matching,
    node_of,
    one_of,
    patch_of,
    read,
    show,
    text,
)


class Colour(models.TextChoices):
    RED = "red"
    BLUE = "blue"


class Wheel(Input, frozen=True):
    bolts: Annotated[int, Meta(ge=0, le=9, examples=[5])]
    price: Annotated[Decimal, amount(5, 2)] = Decimal(0)


class Car(Input, frozen=True, kw_only=True):
    """A car as it is sent."""

    name: Annotated[Slug, Meta(examples=["beetle"])]
    label: Annotated[str, text(10)] = "none"
    code: Annotated[str, matching("^[A-Z]{2}$")] | None = None
    colour: Colour = Colour.RED
    maker: Annotated[str, one_of(["vw", "b.m"])] | None = None
    fuel: Literal["gas", "power"] = "power"
    weight: Annotated[Decimal, amount(5, 2, sign=Sign.POSITIVE)] | UnsetType = UNSET
    built_at: Instant | None = None
    speed: Annotated[float, Meta(gt=0, le=500)] = 1.0
    range_km: Number = 0.0
    sold: bool = False
    extras: JsonObject = {}
    stickers: Annotated[dict[str, str], Meta(max_length=2)] = {}
    wheels: Annotated[list[Wheel], Meta(min_length=1, max_length=4)] | UnsetType = UNSET


def faults(struct: type[msgspec.Struct], data: Any) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        read(struct, data)
    return [(fault.pointer, fault.code) for fault in refused.value.errors]


@pytest.mark.parametrize(
    ("member", "sent", "taken"),
    [
        ("label", "  kept  ", "  kept  "),
        ("label", "\U0001f600é", "\U0001f600é"),
        ("code", None, None),
        ("colour", "blue", Colour.BLUE),
        ("maker", "b.m", "b.m"),
        ("weight", "0.01", Decimal("0.01")),
        ("built_at", "2026-01-31T08:00:00Z", datetime(2026, 1, 31, 8, tzinfo=UTC)),
        ("built_at", "2026-01-31t08:00:00.1234567+01:00",
         datetime(2026, 1, 31, 7, 0, 0, 123456, tzinfo=UTC)),
        ("built_at", "2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("speed", 5, 5.0),
        ("range_km", 1e300, 1e300),
        ("extras", {"a": [1, None, 2.0]}, {"a": [1, None, 2.0]}),
        ("wheels", [{"bolts": 3.0}], [Wheel(bolts=3)]),
        ("wheels", [{"bolts": 3, "price": "-1.5"}], [Wheel(bolts=3, price=Decimal("-1.5"))]),
    ],
)  # fmt: skip
def test_taken(member: str, sent: Any, taken: Any) -> None:
    assert getattr(read(Car, {"name": "a", member: sent}), member) == taken


def test_a_whole_float_elsewhere_stays_what_it_is() -> None:
    car = read(Car, {"name": "a", "extras": {"x": 2.0}, "wheels": [{"bolts": 2.0}]})
    assert (type(car.extras["x"]), type(car.wheels[0].bolts)) == (float, int)  # type: ignore[index]


REFUSED: dict[str, list[tuple[Any, str]]] = {
    "name": [(5, "invalid"), ("", "blank"), ("A", "pattern"), ("a\n", "pattern"),
             (None, "null"), ("x" * 64, "max_length")],
    "code": [("ab", "pattern"), ("AB\n", "pattern"), ([], "invalid")],
    "colour": [("green", "invalid_choice"), (1, "invalid_choice"), ("", "invalid_choice"),
               (["red"], "invalid_choice"), (None, "null")],
    "maker": [("bxm", "invalid_choice"), ("vw\n", "invalid_choice"), (5, "invalid_choice")],
    "fuel": [("coal", "invalid_choice"), (True, "invalid_choice")],
    "weight": [(1, "not_text"), (0.5, "not_text"), (None, "null"),
               *((bad, "notation") for bad in ("1e2", "1.", ".5", "+1", " 1", "1\n", "01", "NaN",
                                               "0", "0.00", "-1", "1000", "1.234", "٣"))],
    "built_at": [(bad, "rfc3339") for bad in (5, "2026-01-31", "2026-01-31T08:00:00", "soon",
                                              "2026-02-30T08:00:00Z", "2026-01-31T24:00:00Z",
                                              "0001-01-01T00:00:00+02:00", "2026-01-31T08:00Z")],
    "speed": [("1", "invalid"), (True, "invalid"), (0, "min_value"), (501, "max_value"),
              (10**400, "max_value"), (float("inf"), "invalid")],
    "range_km": [(10**400, "max_value"), (1e301, "max_value")],
    "sold": [(1, "invalid"), ("true", "invalid")],
    "extras": [([], "not_object"), ({"a": "x" * 70_000}, "too_large")],
    "stickers": [([], "not_object"), ({"a": "1", "b": "2", "c": "3"}, "max_length")],
    "wheels": [({}, "not_a_list"), ([], "min_length"), ([{"bolts": 1}] * 5, "max_length")],
}  # fmt: skip


@pytest.mark.parametrize("member", REFUSED)
def test_refused(member: str) -> None:
    for sent, code in REFUSED[member]:
        assert faults(Car, {"name": "a", member: sent}) == [(f"/{member}", code)], sent


def test_every_fault_is_named_at_once_wherever_it_stands() -> None:
    wheels = [{"bolts": 1, "x/y": 2}, {}, {"bolts": 10}, {"bolts": 1, "price": 1}, 5, None]
    sent = {"wheels": wheels[:4], "stickers": {"a": 1}, "zeal": 1, "speed": "1"}
    assert faults(Car, sent) == [
        ("/zeal", "unknown_field"),
        ("/name", "required"),
        ("/speed", "invalid"),
        ("/stickers/a", "invalid"),
        ("/wheels/0/x~1y", "unknown_field"),
        ("/wheels/1/bolts", "required"),
        ("/wheels/2/bolts", "max_value"),
        ("/wheels/3/price", "not_text"),
    ]
    assert faults(Car, {"name": "a", "wheels": wheels[4:]}) == [
        ("/wheels/0", "invalid"),
        ("/wheels/1", "null"),
    ]


@pytest.mark.parametrize("body", [[], None, 3, "x", True])
def test_a_body_that_is_no_object(body: Any) -> None:
    assert faults(Car, body) == [("", "invalid")]


def test_pointers_begin_where_the_value_stands() -> None:
    with pytest.raises(Invalid) as refused:
        read(Car, {}, "cars", 3)
    assert refused.value.errors[0].pointer == "/cars/3/name"


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 12),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(["a", "AB", "", "red", "gas", "1.5", "0", "2026-01-31T08:00:00Z", "é\n"]),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["bolts", "price", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@drawn(st.dictionaries(st.sampled_from([*Car.__struct_fields__, "zeal"]), _VALUES))
def test_the_walker_and_the_fast_path_agree(sent: dict[str, Any]) -> None:
    """Nothing is refused without a name, and nothing with a fault is taken."""
    named = list(node_of(Car).faults(sent, ()))
    try:
        read(Car, sent)
    except Invalid as refused:
        assert named
        assert list(refused.errors) == named  # noqa: PT017 - what was taken is looked at below
    else:
        assert named == []


# Partial updates.

CarPatch = patch_of(Car, "CarPatch", omit={"name"}, add={"scrapped": bool})


def test_a_patch_holds_what_was_sent() -> None:
    assert given(read(CarPatch, {})) == {}
    sent = given(read(CarPatch, {"code": None, "weight": "1.5", "scrapped": True}))
    assert sent == {"code": None, "weight": Decimal("1.5"), "scrapped": True}
    assert faults(CarPatch, {"name": "b"}) == [("/name", "unknown_field")]
    assert faults(CarPatch, {"colour": None, "label": ""}) == [
        ("/label", "blank"),
        ("/colour", "null"),
    ]


def test_a_create_gives_defaults_but_not_what_was_left_out() -> None:
    values = given(read(Car, {"name": "a"}))
    assert values["speed"] == 1.0
    assert "weight" not in values


# Outputs.


class WheelOut(Output, frozen=True):
    bolts: int
    price: Annotated[Decimal, amount(5, 2)]


class CarOut(Output, frozen=True):
    """A car as it is shown."""

    id: Id
    owner: Annotated[str, From("owner.name")]
    garage: Annotated[str | None, From("garage.name")]
    round_id: Annotated[int | None, From("detail.round")]
    price: Annotated[Decimal, amount(15, 12, plain=True)] | None
    work: float
    built_at: Instant
    wheels: list[WheelOut]
    driver: str | None


def car(**facts: Any) -> SimpleNamespace:
    usual = {
        "id": 3,
        "owner": SimpleNamespace(name="ada"),
        "garage": None,
        "detail": {"round": 7},
        "price": Decimal("0.000000000001"),
        "work": 2,
        "built_at": datetime(2026, 1, 31, 8, tzinfo=UTC),
        "wheels": [SimpleNamespace(bolts=5, price=Decimal("1.5"))],
    }
    return SimpleNamespace(**{**usual, **facts})


SHOWN = (
    b'{"id":3,"owner":"ada","garage":null,"round_id":7,"price":"0.000000000001","work":2.0,'
    b'"built_at":"2026-01-31T08:00:00Z","wheels":[{"bolts":5,"price":"1.50"}],"driver":"bob"}'
)


def test_a_row_is_shown_in_the_order_of_the_fields() -> None:
    assert encode(show(CarOut, car(), driver="bob")) == SHOWN
    assert encode(show(CarOut, {**vars(car()), "owner": {"name": "ada"}, "driver": "bob"})) == SHOWN


def test_what_may_be_null_may_be_null() -> None:
    shown = show(CarOut, car(price=None, detail={}, garage=SimpleNamespace(name="g")), driver=None)
    assert (shown.price, shown.round_id, shown.garage, shown.driver) == (None, None, "g", None)


def test_what_has_no_value_is_left_out() -> None:
    class RemedyOut(Output, frozen=True):
        text: str
        to: int | UnsetType = UNSET

    assert encode(show(RemedyOut, {"text": "wait"})) == b'{"text":"wait"}'
    assert encode(show(RemedyOut, SimpleNamespace(text="wait", to=2))) == b'{"text":"wait","to":2}'


# What is published.


def component(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return node_of(struct).component(lambda node: {"$ref": node.component_name})


def test_an_input_is_published_with_its_bounds() -> None:
    said = component(Car)
    assert (said["required"], said["additionalProperties"]) == (["name"], False)
    assert said["description"] == "A car as it is sent."
    members = said["properties"]
    assert members["name"]["pattern"] == "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    assert members["code"] == {
        "type": "string", "minLength": 1, "pattern": "^[A-Z]{2}$", "nullable": True,
        "default": None,
    }  # fmt: skip
    assert members["maker"] == {
        "type": "string", "enum": ["vw", "b.m", None], "nullable": True, "default": None,
    }  # fmt: skip
    assert members["colour"] == {"allOf": [{"$ref": "Colour"}], "default": "red"}
    assert members["speed"] == {
        "type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 500, "default": 1.0,
    }  # fmt: skip
    assert members["weight"]["pattern"] == r"^(?!0(\.0*)?$)(0|[1-9]\d{0,2})(\.\d{1,2})?$"
    assert members["wheels"] == {
        "type": "array", "items": {"$ref": "Wheel"}, "minItems": 1, "maxItems": 4,
    }  # fmt: skip


def test_the_outer_words_win_and_the_inner_rules_stay() -> None:
    class Said(Input, frozen=True):
        weight: Annotated[
            Annotated[Decimal, amount(5, 2, example="1", description="Inner.")] | UnsetType,
            Meta(description="Outer."),
        ] = UNSET

    said = component(Said)["properties"]["weight"]
    assert (said["format"], said["description"]) == ("decimal", "Outer.")
    assert node_of(Said).example() == {"weight": "1"}


def test_an_output_promises_members_but_no_bounds() -> None:
    said = component(CarOut)
    assert said["required"] == list(CarOut.__struct_fields__)
    assert said["properties"]["id"] == {"type": "integer", "format": "int64"}
    assert "additionalProperties" not in said


def test_examples_are_put_together_from_the_fields() -> None:
    example = node_of(Car).example()
    assert example == {"name": "beetle", "built_at": "2026-01-31T08:00:00Z"}
    read(Car, example)
    assert node_of(CarOut).example()["wheels"] == [{"bolts": 1, "price": "1"}]


def test_a_type_without_a_rule_is_refused_when_it_is_declared() -> None:
    class Odd(Input, frozen=True):
        either: int | str

    with pytest.raises(TypeError, match="one type"):
        node_of(Odd)
