"""One round of Synergy by hand: who is chosen, who gives CPUs back, who is stopped."""

from typing import Any

from policies.contract.snapshot import Blocked
from policies.explain.reasons import WaitReason
from tests.policies.synergy.tables import IMAGE, LANGUAGE, planned, shares, wants
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
