"""What a policy sees of prices that are believed, and becomes known when they are in force."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.contract.snapshot import PriceTable
from policies.pricing.curve import PriceCurve
from policies.pricing.published import HORIZON_S
from simulator.measure import measure
from simulator.prices import PriceView, noisy
from simulator.setting import Setting
from tests.simulator.scripted import Scripted, jobs_of, outcome_of, setting_of, start

HOUR_S = 3600


def hourly(*prices: str | None) -> PriceCurve:
    exact = [None if price is None else Decimal(price) for price in prices]
    return PriceCurve.piecewise(np.arange(len(prices) + 1) * HOUR_S, exact)


def priced(price: PriceCurve, believed: PriceCurve | None) -> Setting:
    plain = setting_of(jobs_of((0.0, 2 * HOUR_S, 1)))
    return replace(plain, price=price, believed_price=believed)


def known(seen: PriceTable, now_s: float = 0.0) -> list[float]:
    """The prices from now on, of which the last row says only where they end."""
    assert np.isnan(seen.price_per_kwh[-1])
    first = max(int(np.searchsorted(seen.from_s, now_s, side="right")) - 1, 0)
    found: list[float] = seen.price_per_kwh[first:-1].tolist()
    return found


def test_the_hour_that_has_come_is_known_and_the_others_are_believed() -> None:
    view = PriceView(priced(hourly("1", "2", "3", "4"), hourly("10", "20", "30", "40")))
    seen = view.at(100.0)
    assert seen.from_s.tolist() == [0, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 4 * HOUR_S]
    assert known(seen) == [1, 20, 30, 40]
    assert view.at(3599.0) is seen
    assert known(view.at(2.5 * HOUR_S)) == [1, 2, 3, 40]


def test_a_price_that_changes_within_a_believed_stretch_is_seen_at_once() -> None:
    view = PriceView(priced(hourly("1", "2", "3"), hourly("9", "9", "8")))
    assert known(view.at(0.0)) == [1, 8]
    assert known(view.at(HOUR_S)) == [2, 8]
    assert view.at(HOUR_S).from_s.tolist() == [0, 2 * HOUR_S, 3 * HOUR_S]


def test_what_comes_before_the_believed_prices_begin_is_not_made_up() -> None:
    later = PriceCurve.piecewise(np.array([1, 2]) * HOUR_S, [Decimal(5)])
    seen = PriceView(priced(hourly("1", "2"), later)).at(0.0)
    assert (seen.from_s.tolist(), known(seen)) == ([HOUR_S, 2 * HOUR_S], [5])


def test_without_beliefs_the_tariff_itself_is_seen_as_far_as_the_horizon() -> None:
    days = hourly(*(str(hour) for hour in range(100)))
    seen = PriceView(priced(days, None)).at(10.5 * HOUR_S)
    assert known(seen) == list(range(10 + HORIZON_S // HOUR_S))
    assert seen.from_s[-1] == 10 * HOUR_S + HORIZON_S


def test_a_price_for_all_hours_is_known_as_far_as_the_horizon_at_any_time() -> None:
    view = PriceView(priced(hourly(*["1"] * 1000), None))
    for hour in (0, 100, 900):
        seen = view.at((hour + 0.5) * HOUR_S)
        assert known(seen, (hour + 0.5) * HOUR_S) == [1]
        assert seen.from_s[-1] == hour * HOUR_S + HORIZON_S


def test_of_a_day_ahead_market_a_policy_sees_what_was_published() -> None:
    """In UTC: until midnight before 12:45, until the next midnight from then on."""
    market = replace(priced(hourly(*map(str, range(100))), None), market_timezone="UTC")
    view = PriceView(market)
    assert known(view.at(12.7 * HOUR_S)) == list(range(24))
    assert known(view.at(12.75 * HOUR_S)) == list(range(48))
    assert known(view.at(25.0 * HOUR_S)) == list(range(1, 48))


def test_nobody_sees_beliefs_of_hours_that_are_not_published() -> None:
    days = hourly(*map(str, range(100)))
    market = replace(priced(days, hourly(*["7"] * 50, *["8"] * 50)), market_timezone="UTC")
    assert PriceView(market).at(0.0).from_s.tolist() == [0, 24 * HOUR_S]


def test_rounds_see_beliefs_and_the_bill_is_that_of_the_tariff() -> None:
    """A job of two hours on one GPU of a node: 2 x (100 + 4 x 20) W idle, 200 + 20 W of the job."""
    setting = priced(hourly("1", "3", "5"), hourly("7", "0", "7"))
    policy = Scripted(Plan(starts=(start(0),)))
    outcome = outcome_of(setting, policy, interval_s=1800.0)
    assert [known(one.prices, one.now_s)[0] for one in policy.seen] == [1, 1, 3, 3]
    assert known(policy.seen[0].prices) == [1, 0, 7]
    assert measure(outcome).summary["energy_cost"] == pytest.approx((0.36 + 0.22) * (1 + 3))


def test_noise_is_drawn_for_every_hour_and_keeps_what_is_unknown() -> None:
    curve = hourly("2", "2", None, "-1")
    found = noisy(curve, 0.3, np.random.default_rng(4))
    drawn = np.maximum(1 + 0.3 * np.random.default_rng(4).standard_normal(5), 0)
    expected = np.array([2, 2, np.nan, -1]) * drawn[:4]
    assert found.edges_s.tolist() == [0, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 4 * HOUR_S]
    assert np.allclose(found.prices, expected, equal_nan=True)
    assert found.prices[0] != found.prices[1]


def test_no_factor_is_below_zero() -> None:
    found = noisy(hourly(*["1"] * 500), 2.0, np.random.default_rng(0))
    assert found.prices.min() == 0
    assert found.prices.max() > 2


def test_hours_are_those_of_the_clock_wherever_the_curve_begins() -> None:
    curve = PriceCurve.piecewise(np.array([1800, 9000]), [Decimal(1)])
    found = noisy(curve, 0.3, np.random.default_rng(1))
    assert found.edges_s.tolist() == [1800, 3600, 7200, 9000]
