"""Demand charges by hand: who meters, whose month it is, and what the next watt costs."""

from decimal import Decimal

import numpy as np
import pytest

from policies.pricing.peak import metered, months_of, next_watt, no_peaks_w, raised_w
from policies.pricing.periods import PricePeriod
from policies.pricing.tariff import FlatTariff, HourlyTariff, TimeOfUseTariff

PRICE = Decimal("0.1")
HOUR_S = 3600.0
# 2024-02-01 at midnight in UTC, a Thursday.
FEBRUARY_S = 1_706_745_600.0


def period(from_h: int, to_h: int, charge: int | None, name: str = "") -> PricePeriod:
    return PricePeriod(
        frozenset(range(1, 13)), frozenset(range(7)), from_h * 60, to_h * 60, PRICE, name,
        None if charge is None else Decimal(charge),
    )  # fmt: skip


def by_day(month: int | None, *charges: int | None, timezone: str = "UTC") -> TimeOfUseTariff:
    """Night until 8 and from 20 on, under one name, and day."""
    night, day = charges
    periods = (period(0, 8, night, "night"), period(8, 20, day), period(20, 24, night, "night"))
    return TimeOfUseTariff(periods, timezone, None if month is None else Decimal(month))


def test_who_charges_nothing_is_not_metered() -> None:
    assert metered(None) is None
    assert metered(FlatTariff(PRICE)) is None
    assert metered(by_day(0, None, 0)) is None
    assert metered(HourlyTariff(np.array([0]), (PRICE,))) is None
    for tariff in (FlatTariff(PRICE, Decimal(1)), by_day(1, None, None), by_day(None, None, 5)):
        assert metered(tariff) is tariff


@pytest.mark.parametrize(
    ("timezone", "turns_s"), [("UTC", 0.0), ("Europe/Berlin", -1.0), ("Asia/Kolkata", -5.5)]
)
def test_months_turn_where_the_tariff_is_at_home(timezone: str, turns_s: float) -> None:
    turns_s = FEBRUARY_S + turns_s * HOUR_S
    at_s = np.arange(turns_s - 36_000, turns_s + 36_000, 900.0)
    months = months_of(by_day(1, None, None, timezone=timezone), at_s)
    assert set(months[at_s < turns_s].tolist()) == {54 * 12}
    assert set(months[at_s >= turns_s].tolist()) == {54 * 12 + 1}


def test_peaks_are_kept_of_the_month_and_of_periods() -> None:
    tariff = by_day(10, 1, 5)
    at_s = FEBRUARY_S + np.array([7.75, 8.0, 21.0]) * HOUR_S
    peaks_w = raised_w(tariff, no_peaks_w(tariff), at_s, np.array([700.0, 400.0, 900.0]))
    assert peaks_w == [900.0, 700.0, 400.0, 900.0]
    assert raised_w(tariff, peaks_w, at_s[1:2], np.array([500.0])) == [900.0, 700.0, 500.0, 900.0]
    flat = FlatTariff(PRICE, Decimal(10))
    assert raised_w(flat, [600.0], at_s, np.array([700.0, 400.0, 650.0])) == [700.0]


@pytest.mark.parametrize(
    ("tariff", "at_h", "expected"),
    [
        (by_day(10, 2, 5), 1, (900.0, 0.012)),
        (by_day(10, 2, 5), 9, (900.0, 0.015)),
        (by_day(None, 2, 5), 9, (400.0, 0.005)),
        (by_day(None, 2, 5), 1, (900.0, 0.002)),
        (by_day(None, None, 5), 1, (900.0, 0.0)),
        (FlatTariff(PRICE, Decimal(8)), 1, (900.0, 0.008)),
    ],
)
def test_the_next_watt_costs_the_month_and_the_period_in_force(
    tariff: FlatTariff | TimeOfUseTariff, at_h: float, expected: tuple[float, float]
) -> None:
    """The night's later hours have the peak of its earlier ones, by their name."""
    peaks_w = [900.0, 700.0, 400.0, 900.0][: len(no_peaks_w(tariff))]
    assert next_watt(tariff, peaks_w, FEBRUARY_S + at_h * HOUR_S) == pytest.approx(expected)
