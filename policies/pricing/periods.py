"""The periods of a time-of-use tariff, and the check that they price every minute once."""

from calendar import day_name, month_name
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from policies.value_fault import ValueFault, pointer

MINUTES_PER_DAY = 1440
GRID = (12, 7, MINUTES_PER_DAY)
NOBODY = -1
MAX_PERIODS = 200
PRICE_LIMIT = Decimal(1000)
DEMAND_CHARGE_LIMIT = Decimal(100_000)
PRICE_PLACES = 12

Owners = NDArray[np.int16]


@dataclass(frozen=True)
class PricePeriod:
    """One price for some months (1-12), weekdays (0 is Monday) and local minutes of the day.

    Periods of one name share a demand: the charge is for their highest peak of the month.
    """

    months: frozenset[int]
    weekdays: frozenset[int]
    from_minute: int
    to_minute: int
    price_per_kwh: Decimal
    name: str = ""
    demand_charge_per_kw: Decimal | None = None


def validate_periods(periods: Sequence[PricePeriod]) -> list[ValueFault]:
    """Empty when every minute of every weekday of every month has exactly one price."""
    if not periods:
        return [ValueFault("empty", "/periods", "A time-of-use tariff needs at least one period.")]
    if len(periods) > MAX_PERIODS:
        message = f"{len(periods)} periods; at most {MAX_PERIODS} are allowed."
        return [ValueFault("too_many_periods", "/periods", message)]
    problems = [problem for i, period in enumerate(periods) for problem in _fields(i, period)]
    if problems:
        return problems
    first = owners(periods)
    return [*_demand_conflicts(periods), *_overlaps(periods, first), *_holes(first)]


def price_problems(price: Decimal, limit: Decimal, at: str) -> Iterator[ValueFault]:
    if not price.is_finite():
        yield ValueFault("non_finite", at, "NaN and Infinity are not prices.")
    elif abs(price) > limit:
        yield ValueFault("out_of_range", at, f"The price must lie within ±{limit}.")
    elif int(price.as_tuple().exponent) < -PRICE_PLACES:
        yield ValueFault("too_precise", at, f"At most {PRICE_PLACES} decimal places are kept.")


def demand_charge_problems(charge: Decimal | None, at: str) -> Iterator[ValueFault]:
    if charge is None:
        return
    yield from price_problems(charge, DEMAND_CHARGE_LIMIT, at)
    if charge.is_finite() and charge < 0:
        yield ValueFault("out_of_range", at, "A demand charge is not negative.")


def owners(periods: Sequence[PricePeriod]) -> Owners:
    """Index of the first period that covers each (month, weekday, minute), or NOBODY."""
    grid = np.full(GRID, NOBODY, dtype=np.int16)
    for i in reversed(range(len(periods))):
        grid[_cells(periods[i])] = i
    return grid


def _cells(period: PricePeriod) -> tuple[NDArray[np.intp], NDArray[np.intp], slice]:
    months, weekdays = np.ix_([m - 1 for m in sorted(period.months)], sorted(period.weekdays))
    return months, weekdays, slice(period.from_minute, period.to_minute)


def _fields(i: int, period: PricePeriod) -> Iterator[ValueFault]:
    yield from _choices(period.months, 1, 12, pointer("periods", i, "months"))
    yield from _choices(period.weekdays, 0, 6, pointer("periods", i, "weekdays"))
    if not 0 <= period.from_minute < MINUTES_PER_DAY:
        message = "A period starts at minute 0 to 1439 of the local day."
        yield ValueFault("out_of_range", pointer("periods", i, "from_minute"), message)
    elif not period.from_minute < period.to_minute <= MINUTES_PER_DAY:
        message = "A period ends after it starts, at minute 1440 at the latest."
        yield ValueFault("out_of_range", pointer("periods", i, "to_minute"), message)
    price_at = pointer("periods", i, "price_per_kwh")
    yield from price_problems(period.price_per_kwh, PRICE_LIMIT, price_at)
    charge_at = pointer("periods", i, "demand_charge_per_kw")
    yield from demand_charge_problems(period.demand_charge_per_kw, charge_at)


def _choices(chosen: frozenset[int], low: int, high: int, at: str) -> Iterator[ValueFault]:
    if not chosen:
        yield ValueFault("empty", at, f"Choose at least one from {low} to {high}.")
    if any(not low <= value <= high for value in chosen):
        yield ValueFault("out_of_range", at, f"Each must lie from {low} to {high}.")


def _demand_conflicts(periods: Sequence[PricePeriod]) -> Iterator[ValueFault]:
    first_of_name: dict[str, int] = {}
    for i, period in enumerate(periods):
        first = first_of_name.setdefault(period.name, i) if period.name else i
        if period.demand_charge_per_kw != periods[first].demand_charge_per_kw:
            at = pointer("periods", i, "demand_charge_per_kw")
            message = f"Period {first} has the same name and another demand charge."
            yield ValueFault("demand_charge_conflict", at, message)


def _overlaps(periods: Sequence[PricePeriod], first: Owners) -> Iterator[ValueFault]:
    for i, period in enumerate(periods):
        covered = first[_cells(period)]
        taken = covered < i
        if taken.any():
            month, weekday, minute = np.unravel_index(taken.argmax(), taken.shape)
            moment = _moment(
                sorted(period.months)[month] - 1,
                sorted(period.weekdays)[weekday],
                period.from_minute + int(minute),
            )
            other = covered[month, weekday, minute]
            message = f"Overlaps period {other}, for example on {moment}."
            yield ValueFault("overlap", pointer("periods", i), message)


def _holes(first: Owners) -> Iterator[ValueFault]:
    empty = first == NOBODY
    if empty.any():
        month, weekday, minute = np.unravel_index(empty.argmax(), GRID)
        message = (
            f"{empty.sum()} of {empty.size} minutes (month x weekday x minute of the day) "
            f"have no price, for example {_moment(int(month), int(weekday), int(minute))}."
        )
        yield ValueFault("hole", "/periods", message)


def _moment(month_index: int, weekday: int, minute: int) -> str:
    month, day = month_name[month_index + 1], day_name[weekday]
    return f"a {day} in {month} at {minute // 60:02}:{minute % 60:02}"
