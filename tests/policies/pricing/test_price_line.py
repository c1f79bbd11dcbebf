"""The price of a watt from now on, where tables end or have holes."""

from dataclasses import replace

import numpy as np
import pytest

from policies.contract.snapshot import PriceTable, Snapshot
from policies.pricing.curve import J_PER_KWH
from policies.pricing.price_line import price_line
from tests.policies.worlds import NOW_S, Node, World

HOUR_S = 3600.0


def told(*rows: tuple[float, float], carbon: tuple[float, ...] = ()) -> Snapshot:
    table = PriceTable.of(
        from_s=[NOW_S + at_s for at_s, _ in rows],
        price_per_kwh=[price for _, price in rows],
        carbon_g_per_kwh=carbon or [np.nan] * len(rows),
    )
    return replace(World(nodes=[Node(gpus=1)], jobs=[]).snapshot(), prices=table)


def per_kwh(snapshot: Snapshot, **given: float) -> list[float]:
    found: list[float] = (price_line(snapshot, 9.0, **given).price * J_PER_KWH).round(9).tolist()
    return found


def test_beyond_the_known_hours_energy_costs_their_mean() -> None:
    """In the middle of an hour of 0.1, before two hours of 0.4: the mean is 0.3."""
    line = price_line(
        told((-1800.0, 0.1), (1800.0, 0.4), (1800.0 + 2 * HOUR_S, np.nan)), default_per_kwh=9.0
    )
    assert line.price * J_PER_KWH == pytest.approx([0.1, 0.4, 0.3])
    assert line.known_s == 1800 + 2 * HOUR_S


def test_the_last_hour_says_nothing_about_the_time_after_it() -> None:
    """A day of 0.2 and then one hour for nothing: next week is not for nothing."""
    line = price_line(told((0.0, 0.2), (24 * HOUR_S, 0.0), (25 * HOUR_S, np.nan)), 9.0)
    assert line.price[-1] * J_PER_KWH == pytest.approx(0.2 * 24 / 25)


def test_hours_of_the_day_behind_us_count_like_those_ahead() -> None:
    """A night of 0.1 is all that is published; the day before cost 0.3, and the week before 9."""
    night = told((-99 * HOUR_S, 9.0), (-18 * HOUR_S, 0.3), (0.0, 0.1), (6 * HOUR_S, np.nan))
    assert per_kwh(night) == pytest.approx([0.1, (6 * 9.0 + 18 * 0.3 + 6 * 0.1) / 30])
    assert price_line(night, 9.0).known_s == 6 * HOUR_S


def test_a_hole_costs_the_mean_and_without_any_known_hour_the_default() -> None:
    hole = told((0.0, 0.1), (HOUR_S, np.nan), (2 * HOUR_S, 0.3), (3 * HOUR_S, np.nan))
    assert per_kwh(hole) == [0.1, 0.2, 0.3, 0.2]
    assert price_line(hole, 9.0).known_s == HOUR_S
    assert per_kwh(told((0.0, np.nan), (HOUR_S, np.nan))) == [9.0]


@pytest.mark.parametrize("price", [0.1, 0.3, 1 / 3, -0.07])
def test_one_price_for_all_known_hours_is_flat_for_ever(price: float) -> None:
    line = price_line(told((-600.0, price), (47 * HOUR_S + 7, np.nan)), 9.0)
    assert line.flat
    assert line.known_s == np.inf


def test_carbon_beyond_the_known_hours_is_their_mean_too() -> None:
    rows = (0.0, 0.2), (HOUR_S, 0.2), (2 * HOUR_S, np.nan)
    assert per_kwh(told(*rows, carbon=(100.0, 300.0, np.nan)), carbon_per_kg=1.0) == [0.3, 0.5, 0.4]
    assert per_kwh(told(*rows), carbon_per_kg=1.0) == [0.2]
