"""Periods must price every minute once; what they do wrong is named and pointed at."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.pricing.periods import MAX_PERIODS, PricePeriod, validate_periods
from policies.value_fault import ValueFault, pointer
from tests.examples import examples

YEAR = frozenset(range(1, 13))
WEEK = frozenset(range(7))
WHOLE = PricePeriod(YEAR, WEEK, 0, 1440, Decimal("0.2"))
NIGHT = replace(WHOLE, to_minute=510)
DAY = replace(WHOLE, from_minute=510, price_per_kwh=Decimal("0.3"))


def codes(problems: list[ValueFault]) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in problems]


def test_one_period_or_two_that_meet_are_fine() -> None:
    assert validate_periods([WHOLE]) == []
    assert validate_periods([NIGHT, DAY]) == []


def test_a_minute_without_a_price_is_named() -> None:
    (problem,) = validate_periods([replace(NIGHT, to_minute=509), DAY])
    assert (problem.code, problem.pointer) == ("hole", "/periods")
    assert problem.message == (
        "84 of 120960 minutes (month x weekday x minute of the day) have no price, "
        "for example a Monday in January at 08:29."
    )


def test_a_weekday_of_one_month_left_out_is_named() -> None:
    rest = replace(WHOLE, months=YEAR - {2})
    february = replace(WHOLE, months=frozenset({2}), weekdays=WEEK - {6})
    (problem,) = validate_periods([rest, february])
    assert "1440 of 120960" in problem.message
    assert "a Sunday in February at 00:00" in problem.message


def test_an_overlap_points_to_the_later_period() -> None:
    extra = replace(WHOLE, months=frozenset({12}), weekdays=frozenset({5}), from_minute=1439)
    assert validate_periods([NIGHT, DAY, extra]) == [
        ValueFault(
            "overlap",
            "/periods/2",
            "Overlaps period 1, for example on a Saturday in December at 23:59.",
        )
    ]


def test_overlap_and_hole_are_both_reported() -> None:
    found = validate_periods([NIGHT, replace(DAY, from_minute=509, to_minute=1400)])
    assert codes(found) == [("overlap", "/periods/1"), ("hole", "/periods")]


def test_no_periods_and_far_too_many() -> None:
    assert codes(validate_periods([])) == [("empty", "/periods")]
    assert codes(validate_periods([WHOLE] * (MAX_PERIODS + 1))) == [
        ("too_many_periods", "/periods")
    ]


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ({"months": frozenset()}, "empty", "months"),
        ({"months": frozenset({0, 1})}, "out_of_range", "months"),
        ({"months": frozenset({13})}, "out_of_range", "months"),
        ({"weekdays": frozenset()}, "empty", "weekdays"),
        ({"weekdays": frozenset({7})}, "out_of_range", "weekdays"),
        ({"weekdays": frozenset({-1})}, "out_of_range", "weekdays"),
        ({"from_minute": -1}, "out_of_range", "from_minute"),
        ({"from_minute": 1440, "to_minute": 1441}, "out_of_range", "from_minute"),
        ({"from_minute": 10**30}, "out_of_range", "from_minute"),
        ({"to_minute": 0}, "out_of_range", "to_minute"),
        ({"from_minute": 1320, "to_minute": 360}, "out_of_range", "to_minute"),
        ({"to_minute": 1441}, "out_of_range", "to_minute"),
        ({"price_per_kwh": Decimal("NaN")}, "non_finite", "price_per_kwh"),
        ({"price_per_kwh": Decimal("sNaN")}, "non_finite", "price_per_kwh"),
        ({"price_per_kwh": Decimal("-Infinity")}, "non_finite", "price_per_kwh"),
        ({"price_per_kwh": Decimal("1000.01")}, "out_of_range", "price_per_kwh"),
        ({"price_per_kwh": Decimal("-1E+999999")}, "out_of_range", "price_per_kwh"),
        ({"price_per_kwh": Decimal("0.1234567890123")}, "too_precise", "price_per_kwh"),
        ({"demand_charge_per_kw": Decimal("NaN")}, "non_finite", "demand_charge_per_kw"),
        ({"demand_charge_per_kw": Decimal("sNaN")}, "non_finite", "demand_charge_per_kw"),
        ({"demand_charge_per_kw": Decimal(-1)}, "out_of_range", "demand_charge_per_kw"),
    ],
)
def test_a_bad_field_is_pointed_at(change: dict[str, Any], code: str, where: str) -> None:
    found = validate_periods([NIGHT, replace(DAY, **change)])
    assert codes(found) == [(code, f"/periods/1/{where}")]


@pytest.mark.parametrize("price", ["-1000", "-0.01", "0", "1000", "0.123456789012"])
def test_prices_may_be_negative_within_bounds(price: str) -> None:
    assert validate_periods([replace(WHOLE, price_per_kwh=Decimal(price))]) == []


def test_one_name_has_one_demand_charge() -> None:
    night = replace(NIGHT, name="off-peak", demand_charge_per_kw=Decimal(3))
    same = replace(DAY, name="off-peak", demand_charge_per_kw=Decimal("3.00"))
    assert validate_periods([night, same]) == []
    other = replace(same, demand_charge_per_kw=Decimal(4))
    expected = [("demand_charge_conflict", "/periods/1/demand_charge_per_kw")]
    assert codes(validate_periods([night, other])) == expected
    assert validate_periods([night, replace(other, name="peak")]) == []
    assert validate_periods([replace(night, name=""), replace(other, name="")]) == []


def test_pointers_escape_what_separates_them() -> None:
    assert pointer("csv", 3, "Price (USD/MWh)", "a~b") == "/csv/3/Price (USD~1MWh)/a~0b"


minutes = st.sampled_from([0, 1, 510, 720, 1290, 1439, 1440])


@st.composite
def random_periods(draw: st.DrawFn) -> PricePeriod:
    low, high = sorted(draw(st.tuples(minutes, minutes).filter(lambda pair: pair[0] != pair[1])))
    return PricePeriod(
        months=draw(st.sampled_from([YEAR, frozenset({1, 2}), YEAR - {1, 2}, frozenset({7})])),
        weekdays=draw(st.sampled_from([WEEK, frozenset(range(5)), frozenset({5, 6})])),
        from_minute=low,
        to_minute=high,
        price_per_kwh=Decimal(1),
    )


@settings(max_examples=examples(40))
@given(st.lists(random_periods(), min_size=1, max_size=4))
def test_the_check_agrees_with_counting_every_minute(periods: list[PricePeriod]) -> None:
    seen: set[tuple[int, int, int]] = set()
    overlapping = []
    for i, period in enumerate(periods):
        cells = {
            (month, weekday, minute)
            for month in period.months
            for weekday in period.weekdays
            for minute in range(period.from_minute, period.to_minute)
        }
        overlapping += [("overlap", f"/periods/{i}")] if cells & seen else []
        seen |= cells
    missing = 12 * 7 * 1440 - len(seen)
    found = validate_periods(periods)
    assert codes(found) == overlapping + [("hole", "/periods")] * (missing > 0)
    assert not missing or found[-1].message.startswith(f"{missing} of 120960 ")
