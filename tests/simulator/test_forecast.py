"""A forecast says when queued jobs start and finish, how sure it is, and what they draw."""

from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
import pytest

from policies.pricing.tariff import FlatTariff
from policies.registry import build
from simulator.engine import Pace
from simulator.forecast import QueueForecast, estimate
from simulator.live import EnergyTerms, Guess
from tests.policies.worlds import NOW_S, Node, World
from tests.simulator.test_live import queued, running

PRICE = FlatTariff(Decimal("0.36")).curve(int(NOW_S), int(NOW_S) + 7 * 86_400)


def forecast(world: World, **more: Any) -> QueueForecast:
    pace = more.pop("pace", Pace())
    guess = more.pop("guess", Guess(spread=0.5))
    return estimate(world.snapshot(), build("fifo", {}), pace, guess, **more)


def test_only_the_queue_is_foreseen() -> None:
    found = forecast(World([Node()], [running(), queued(est_s=30), queued(est_s=7)]))
    assert found.job.tolist() == [1001, 1002]
    assert (found.start_s - NOW_S).tolist() == pytest.approx([60, 90])
    assert (found.finish_s - NOW_S).tolist() == pytest.approx([90, 97])


def test_the_interval_holds_the_expected_time_and_grows_along_the_queue() -> None:
    jobs = [queued(est_s=100) for _ in range(6)]
    found = forecast(World([Node()], jobs), members=16)
    assert (found.start_low_s <= found.start_s).all()
    assert (found.start_s <= found.start_high_s).all()
    width_s = found.start_high_s - found.start_low_s
    assert width_s[0] == 0
    assert 0 < width_s[1] < width_s[5]


def test_sure_run_times_give_no_interval_to_speak_of() -> None:
    found = forecast(World([Node()], [queued(), queued()]), guess=Guess(spread=0.0))
    assert found.start_low_s.tolist() == found.start_high_s.tolist() == found.start_s.tolist()


def test_energy_is_the_whole_draw_of_the_gpus_and_a_share_of_the_host() -> None:
    node = Node(host_idle_w=100.0, host_peak_w=500.0)
    found = forecast(World([node], [queued(gpus=4, est_s=3600)]), terms=EnergyTerms(price=PRICE))
    # Four GPUs at 300 W and half of the host's 500 W, as they are billed, for an hour.
    assert found.full_energy_j[0] == pytest.approx((4 * 300 + 250) * 3600)
    assert found.full_cost[0] == pytest.approx(1.45 * 0.36)


def test_without_a_tariff_there_is_no_cost() -> None:
    assert np.isnan(forecast(World([Node()], [queued()])).full_cost[0])


def test_what_never_starts_has_no_times() -> None:
    found = forecast(World([Node(gpus=4)], [queued(gpus=8)]))
    assert np.isnan([found.start_s[0], found.start_high_s[0], found.finish_s[0]]).all()
    assert np.isnan([found.full_energy_j[0]]).all()


def test_at_the_horizon_running_jobs_still_have_a_finish() -> None:
    jobs = [queued(est_s=100), queued(est_s=100)]
    found = forecast(World([Node()], jobs), pace=Pace(until_s=NOW_S + 50))
    assert found.finish_s[0] - NOW_S == pytest.approx(100)
    assert np.isnan(found.start_s[1])
    assert np.isnan(found.full_energy_j[0])


def test_when_time_is_up_the_answer_is_what_was_simulated() -> None:
    jobs = [queued(est_s=10) for _ in range(300)]
    looks = count()
    found = forecast(World([Node()], jobs), out_of_time=lambda: next(looks) > 0)
    known = ~np.isnan(found.start_s)
    assert 0 < known.sum() < 300
    assert np.isnan(found.start_low_s).all()


def test_the_same_snapshot_gives_the_same_forecast() -> None:
    world = World([Node()], [running(), queued(), queued(gpus=2)])
    first, second = (dict(forecast(world).columns()) for _ in range(2))
    assert all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)
