"""A week of prices as a grid of hours, and the periods of a tariff that say the same."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from rest.problems import Invalid

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = range(24)
ALL_MONTHS = list(range(1, 13))
Week = list[list[str]]


def week_of(periods: Sequence[Mapping[str, Any]]) -> Week | None:
    """None where the grid could not say it: seasons, parts of hours, demand charges of periods."""
    grid: Week = [[""] * 24 for _ in DAYS]
    for period in periods:
        whole = period["from_minute"] % 60 == period["to_minute"] % 60 == 0
        every = sorted(period["months"]) == ALL_MONTHS
        if not (whole and every) or period.get("demand_charge_per_kw") is not None:
            return None
        for day in period["weekdays"]:
            for hour in range(period["from_minute"] // 60, period["to_minute"] // 60):
                grid[day][hour] = _short(period["price_per_kwh"])
    return grid


def key(day: int, hour: int) -> str:
    return f"price-{day}-{hour}"


def cells(grid: Week) -> list[tuple[str, list[tuple[str, str, int]]]]:
    """Day by day: the name of each field, its price and its hour."""
    return [
        (name, [(key(day, hour), grid[day][hour], hour) for hour in HOURS])
        for day, name in enumerate(DAYS)
    ]


def periods_of(sent: Mapping[str, str]) -> list[dict[str, Any]]:
    """The fewest that say what was painted: equal stretches of several days are one."""
    days: dict[tuple[int, int, Decimal], list[int]] = defaultdict(list)
    for day in range(len(DAYS)):
        for stretch in _stretches([_price(sent, day, hour) for hour in HOURS]):
            days[stretch].append(day)
    return [
        {
            "months": ALL_MONTHS,
            "weekdays": weekdays,
            "from_minute": start * 60,
            "to_minute": end * 60,
            "price_per_kwh": price,
        }
        for (start, end, price), weekdays in days.items()
    ]


def _stretches(prices: Sequence[Decimal]) -> list[tuple[int, int, Decimal]]:
    edges = [0, *(hour for hour in HOURS if hour and prices[hour] != prices[hour - 1]), 24]
    return [(a, b, prices[a]) for a, b in pairwise(edges)]


def _price(sent: Mapping[str, str], day: int, hour: int) -> Decimal:
    text = sent.get(key(day, hour), "").strip()
    try:
        price = Decimal(text)
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite():
        detail = f"{DAYS[day]}, {hour}:00: {text!r} is no price." if text else (
            f"{DAYS[day]} has no price at {hour}:00."
        )  # fmt: skip
        raise Invalid.at(f"/{key(day, hour)}", "invalid", detail)
    return price


def _short(price: str | Decimal) -> str:
    """Without zeroes that say nothing."""
    text = f"{Decimal(price):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
