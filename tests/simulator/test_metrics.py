"""Figures of runs small enough to work out by hand."""

import math

import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.registry import build
from simulator.machines import with_partitions
from simulator.measure import measure
from simulator.metrics.intervals import interval
from tests.simulator.scripted import Scripted, jobs_of, machines_of, outcome_of, setting_of, start


def test_times_of_two_jobs_on_one_gpu() -> None:
    outcome = outcome_of(
        setting_of(jobs_of((0, 100, 1), (20, 50, 1)), machines_of(1, 1)), build("fifo", {})
    )
    measured = measure(outcome)
    summary = measured.summary
    assert measured.jobs.jct_s.tolist() == [100, 130]
    assert measured.jobs.wait_s.tolist() == [0, 80]
    assert summary["jct_mean_s"] == 115
    assert summary["wait_mean_s"] == 40
    assert summary["makespan_s"] == 150


def test_deadlines_cost_by_the_second() -> None:
    jobs = jobs_of((0, 100, 1), (0, 100, 1), deadline_s=[70, 500], tardiness_weight=[0.5, 9.0])
    summary = measure(outcome_of(setting_of(jobs), build("fifo", {}))).summary
    assert summary["deadline_misses"] == 1
    assert summary["tardiness_cost"] == 15


def test_fairness_compares_with_a_share_of_the_cluster() -> None:
    """Two jobs that each want all four GPUs: alone at half the speed both would take 200 s."""
    jobs = jobs_of((0, 100, 4), (0, 100, 4))
    measured = measure(outcome_of(setting_of(jobs, machines_of(1)), build("fifo", {})))
    # The first lives 100 s with two jobs about; the second 100 s with two and 100 s with one.
    assert measured.jobs.fairness.tolist() == [pytest.approx(0.5), pytest.approx(2 / 1.5)]
    assert measured.summary["unfair_share"] == 0.5


def test_jain_is_one_for_equals_and_less_otherwise() -> None:
    equal = jobs_of((0, 100, 1), (0, 100, 1), tenant=[0, 1])
    setting = setting_of(equal, machines_of(1, 2))
    assert measure(outcome_of(setting, build("fifo", {}))).summary["jain"] == pytest.approx(1)
    queue = setting_of(equal, machines_of(1, 1))
    assert measure(outcome_of(queue, build("fifo", {}))).summary["jain"] == pytest.approx(0.9)


def test_fragmentation_counts_free_gpus_that_do_not_serve_the_queue() -> None:
    """Two of four GPUs taken on each node; the queue wants three on one node."""
    starts = (start(0, 0, 0b11), start(1, 1, 0b11))
    policy = Scripted(Plan(starts=starts), Plan(), Plan(), Plan())
    jobs = jobs_of((0, 100, 2), (0, 40, 2), (10, 5, 3))
    outcome = outcome_of(setting_of(jobs), policy, sample_s=1.0, until_s=60)
    # At 10 s all four free GPUs are useless; at 40 s the second node has four free and serves.
    assert outcome.samples.at_s.tolist() == [0, 10, 40]
    assert outcome.samples.free[:, 0].tolist() == [0, 4, 6]
    assert outcome.samples.useless[:, 0].tolist() == [0, 4, 2]
    assert measure(outcome).summary["fragmentation"] == pytest.approx((1 + 2 / 6) / 2)


def test_partitions_are_pools_of_their_own() -> None:
    machines = with_partitions(machines_of(2), ("p", "q"), np.array([0, 1]), lends=False)
    jobs = jobs_of((0, 50, 3), (0, 50, 3), (0, 9, 1), partition=[0, 0, 1])
    outcome = outcome_of(setting_of(jobs, machines), build("fifo", {}), sample_s=1.0)
    assert outcome.samples.free[0].tolist() == [1, 0]
    assert outcome.samples.useless[0].tolist() == [1, 0]
    assert measure(outcome).partitions["q"]["jobs"] == 1


def test_intervals_are_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.high - found.mean == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    assert not interval([-1.0, 1.0]).excludes_zero
    assert interval([5.0, 5.1, 4.9]).excludes_zero
    assert math.isnan(interval([1.0]).low)
    assert math.isnan(interval([float("nan")]).mean)
