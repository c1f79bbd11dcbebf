"""Money, carbon and demand charges of a run that can be checked by hand."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.pricing.periods import PricePeriod
from policies.pricing.tariff import FlatTariff, HourlyTariff, TimeOfUseTariff
from simulator.energy import DrawnPower, demand_cost, draw
from simulator.measure import measure
from simulator.prices import PriceView
from simulator.setting import Setting
from tests.simulator.scripted import Scripted, jobs_of, machines_of, outcome_of, setting_of, start

HOUR_S = 3600
YEAR = range(1, 13)
WEEK = range(7)


def priced_setting(pue: float = 1.0) -> Setting:
    """One job of two GPUs, from half past the first hour for an hour."""
    hours = np.arange(3) * HOUR_S
    tariff = HourlyTariff(hours, (Decimal("0.1"), Decimal("0.4"), Decimal("0.2")))
    setting = setting_of(jobs_of((1800, 3600, 2)), machines_of(1))
    return dataclasses.replace(setting, price=tariff.curve(0, 3 * HOUR_S), pue=pue)


def test_energy_is_priced_by_the_hours_it_falls_in() -> None:
    outcome = outcome_of(priced_setting(pue=1.5), Scripted(Plan(starts=(start(0, 0, 0b11),))))
    measured = measure(outcome)
    # Two GPUs at 200 W above idle, and half of the host's 80 W span.
    watts = (2 * 200 + 40) * 1.5
    assert measured.jobs.energy_j[0] == pytest.approx(watts * HOUR_S)
    assert measured.jobs.energy_cost[0] == pytest.approx(watts / 1000 * (0.1 + 0.4) / 2)
    idle_w = (100 + 4 * 20) * 1.5
    total = measured.summary["energy_kwh"]
    assert total == pytest.approx((watts + idle_w) / 1000)


def test_draw_adds_up_to_the_energy() -> None:
    outcome = outcome_of(priced_setting(), Scripted(Plan(starts=(start(0, 0, 0b11),))))
    drawn = draw(outcome, outcome.log.table())
    assert drawn.watts.tolist() == [440 + 180]
    assert drawn.joules_until(np.array([1800.0 + 3600.0]))[0] == pytest.approx(620 * HOUR_S)


def two_levels() -> DrawnPower:
    """1 kW for half an hour, then 3 kW, from a Tuesday at midnight."""
    start_s = 1_704_153_600.0
    return DrawnPower(start_s + np.array([0.0, 1800.0, 3600.0]), np.array([1000.0, 3000.0]))


def test_the_month_pays_for_its_highest_quarter_of_an_hour() -> None:
    assert demand_cost(two_levels(), FlatTariff(Decimal("0.1"), Decimal(10))) == Decimal(30)
    assert demand_cost(two_levels(), FlatTariff(Decimal("0.1"))) == 0


def test_a_short_peak_is_averaged_over_its_quarter() -> None:
    start_s = 1_704_153_600.0
    drawn = DrawnPower(start_s + np.array([0.0, 450.0, 900.0]), np.array([0.0, 8000.0]))
    assert demand_cost(drawn, FlatTariff(Decimal("0.1"), Decimal(1))) == Decimal(4)


def test_every_month_has_its_own_peak() -> None:
    ends_s = 1_706_745_600.0  # 2024-02-01
    drawn = DrawnPower(ends_s + np.array([-3600.0, 0.0, 3600.0]), np.array([2000.0, 5000.0]))
    assert demand_cost(drawn, FlatTariff(Decimal("0.1"), Decimal(1))) == Decimal(7)


def test_periods_charge_for_the_peak_within_them() -> None:
    def period(from_minute: int, to_minute: int, charge: int) -> PricePeriod:
        return PricePeriod(
            frozenset(YEAR), frozenset(WEEK), from_minute, to_minute, Decimal("0.1"),
            demand_charge_per_kw=Decimal(charge),
        )  # fmt: skip

    tariff = TimeOfUseTariff((period(0, 30, 100), period(30, 1440, 1)), "UTC")
    assert demand_cost(two_levels(), tariff) == Decimal(100 + 3)


def test_a_policy_sees_two_days_of_prices_and_the_one_behind() -> None:
    hours = np.arange(24 * 10) * HOUR_S
    tariff = HourlyTariff(hours, tuple(Decimal(i) / 1000 for i in range(len(hours))))
    setting = dataclasses.replace(priced_setting(), price=tariff.curve(0, int(hours[-1]) + HOUR_S))
    view = PriceView(setting)
    prices = view.at(90_000.0)
    assert prices.from_s[0] == 90_000 - 86_400
    assert prices.from_s[-1] == 90_000 + 2 * 86_400
    assert np.isnan(prices.price_per_kwh).tolist() == [False] * 72 + [True]
    assert view.at(90_001.0) is prices
    assert view.at(90_000.0 + HOUR_S) is not prices
