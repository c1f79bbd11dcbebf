"""One round of Synergy by hand: who is chosen, who gives CPUs back, who is stopped."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.contract.snapshot import Blocked
from policies.explain.reasons import WaitReason
from tests.policies.synergy.tables import IMAGE, LANGUAGE, planned, profiles, shares, wants
from tests.policies.worlds import NOW_S, Job, Node, World

# Three CPUs and 1000 MiB a GPU.
NODE = Node(gpus=4, cpus=12, mem_mib=4000)


def holding(gpus: int, mask: int, cpus: int, profile: int = IMAGE, **columns: Any) -> Job:
    job = wants(gpus, profile, started_s=NOW_S - 3600.0, checkpoint_s=NOW_S, **columns)
    job.on = [(0, mask, cpus, 1000 * gpus)]
    job.state = job.state.RUNNING
    return job


def test_a_newcomer_gets_what_a_resident_has_beyond_its_share() -> None:
    """The resident has nine CPUs; for its three the newcomer takes none away that it is due."""
    plan = planned(World([NODE], [holding(1, 0b1, 9), wants(3, IMAGE)]))
    assert [start.job for start in plan.starts] == [1001]
    assert [retune.job for retune in plan.retunes] == [1000]
    assert shares(plan) == {1: (9, 3000), 0: (3, 1000)}


def test_what_nobody_needs_goes_to_who_is_faster_by_it() -> None:
    """A language model runs with one CPU, so an image model beside it has nine."""
    plan = planned(World([NODE], [wants(1, LANGUAGE), wants(1, IMAGE)]))
    assert shares(plan)[1][0] == 9


def test_starts_stand_in_the_order_of_the_queue() -> None:
    plan = planned(World([NODE], [wants(1, LANGUAGE), wants(2, LANGUAGE), wants(1, LANGUAGE)]))
    assert [start.job for start in plan.starts] == [1000, 1001, 1002]


def test_work_outside_the_order_is_stopped_only_with_leave() -> None:
    """Shortest remaining time first: an hour goes before ten."""
    jobs = [
        holding(4, 0b1111, 12, est_run_s=36_000.0),
        wants(4, IMAGE, est_run_s=3600.0),
    ]
    plan = planned(World([NODE], jobs), ordering="srtf")
    assert [(stop.job, stop.for_job, stop.lost_gpu_s) for stop in plan.preempts] == [
        (1000, 1001, 0.0)
    ]
    wait = plan.wait_of(1001)
    assert wait is not None
    assert wait.reason is WaitReason.PREEMPTED_WORK
    assert planned(World([NODE], jobs), ordering="srtf", preempt=False).preempts == ()


def test_who_is_blocked_waits_behind_nobody() -> None:
    plan = planned(World([NODE], [wants(1, IMAGE, blocked=Blocked.HELD), wants(4, IMAGE)]))
    assert [(w.job, w.reason, w.ahead) for w in plan.iter_waits()] == [(1000, WaitReason.HELD, 0)]


@pytest.mark.parametrize(
    "budget",
    [
        {"power_budget_w": 300.0},
        {"partition_budgets_w": [300.0]},
        {"cluster_energy_left_j": 300.0 * 3600, "energy_until_s": NOW_S + 3600},
    ],
    ids=["cluster", "partition", "energy"],
)
def test_whatever_the_budget_each_profile_counts_its_own_watts(budget: dict[str, Any]) -> None:
    """Idle 200 W; of two jobs that ask alike one adds 50 W and the other 250 W."""
    table = profiles()
    each_w = np.array([300.0, 100.0, 300.0]).reshape(table.watts_per_gpu.shape)
    table = replace(table, watts_per_gpu=each_w)
    jobs = [wants(1, LANGUAGE, partition=0), wants(1, IMAGE, partition=0)]
    given = World([replace(NODE, partition=0)], jobs, partitions=[False], **budget)
    plan = planned(given, table, packing="proportional")
    assert [start.job for start in plan.starts] == [1000]


def test_of_the_objective_less_is_better() -> None:
    """Three times as many CPUs make an image model 2.4 times as fast."""
    tuned = planned(World([NODE], [wants(1, IMAGE)]))
    proportional = planned(World([NODE], [wants(1, IMAGE)]), packing="proportional")
    assert tuned.objective == pytest.approx(-2.4)
    assert proportional.objective == pytest.approx(-1.0)
    assert tuned.shown["total_speed"] == pytest.approx(2.4)
    assert planned(World([NODE], [wants(5, IMAGE)])).objective == 0.0
