"""What a budget would shed and delay, by hand: an idle GPU draws 50 W, one in use 300 W."""

from typing import Any

import numpy as np
import pytest

from policies.registry import build
from simulator.budget_response import BudgetWindow, Shed, estimate_shed
from simulator.engine import Pace
from simulator.live import Guess
from tests.policies.worlds import NOW_S, Node, World
from tests.simulator.test_live import queued, running

HOUR_S = 3600.0


def shed(world: World, window: BudgetWindow, **more: Any) -> Shed:
    pace = Pace(interval_s=15.0)
    return estimate_shed(
        world.snapshot(), build("fifo", {}), pace, Guess(spread=0.0), window=window, **more
    )


def within(watts: float, from_s: float = 0, until_s: float = HOUR_S, **more: Any) -> BudgetWindow:
    return BudgetWindow(NOW_S + from_s, NOW_S + until_s, watts, **more)


def two_jobs() -> World:
    return World([Node()], [queued(gpus=4, est_s=3600), queued(gpus=4, est_s=3600)])


def test_a_job_that_does_not_fit_starts_when_the_window_ends() -> None:
    found = shed(two_jobs(), within(1400))

    assert (found.baseline_w, found.expected_w) == pytest.approx((2400, 1400))
    assert (found.met_s, found.within, found.complete) == (NOW_S, 1.0, True)
    assert (found.jobs, found.delayed) == (2, 1)
    assert found.worst_delay_s == pytest.approx(3600)
    assert found.mean_delay_s == pytest.approx(1800)


def test_a_budget_that_binds_nothing_costs_nothing() -> None:
    found = shed(two_jobs(), within(2400))

    assert found.baseline_w == found.expected_w
    assert (found.delayed, found.worst_delay_s) == (0, 0)


def test_what_runs_and_cannot_be_slowed_is_waited_for() -> None:
    """It ends after a minute of two; until then nothing can be shed."""
    found = shed(World([Node()], [running(gpus=8)]), within(500, until_s=120))

    assert found.met_s == pytest.approx(NOW_S + 60)
    assert found.within == pytest.approx(0.5)
    assert np.allclose(found.expected_curve_w, [2400] * 30 + [400] * 30)


def test_less_than_idle_is_never_met() -> None:
    found = shed(two_jobs(), within(300))

    assert (found.met_s, found.within) == (None, 0.0)
    assert found.expected_w == pytest.approx(400)


def test_a_partition_is_looked_at_by_itself() -> None:
    world = World(
        [Node(partition=0), Node(partition=1)],
        [queued(gpus=8, est_s=3600, partition=part) for part in (0, 1)],
        partitions=[False, False],
    )

    found = shed(world, within(1000, partition=1))

    assert (found.baseline_w, found.expected_w) == pytest.approx((2400, 400))
    assert (found.delayed, found.jobs) == (1, 2)


def test_other_windows_hold_in_both_runs() -> None:
    found = shed(two_jobs(), within(1400), others=[within(1400, until_s=7200)])

    assert (found.baseline_w, found.delayed) == pytest.approx((1400, 0))


def test_when_time_is_up_delays_are_not_known() -> None:
    found = shed(two_jobs(), within(1400), out_of_time=lambda: True)

    assert (found.complete, found.mean_delay_s, found.jobs) == (False, None, 0)
