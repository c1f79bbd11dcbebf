"""Who gets nodes kept, which ones, and what that changes for the others."""

from typing import Any

import numpy as np
import pytest

from policies.bench.drain import Takes
from policies.bench.parameters import PATIENCE_S
from policies.bench.reservations import overdue_jobs, reserve
from policies.contract.invariants import check_plan
from policies.contract.snapshot import Blocked, NodeState, Snapshot, Span
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.policies.worlds import NOW_S, Node, World, queued, running

LATE_S = NOW_S - PATIENCE_S - 1


def late(gpus: int, **columns: Any) -> Any:
    return queued(gpus, **{"submitted_s": LATE_S, **columns})


def busy(node: int, mask: int, left_s: float = np.nan, since_s: float = 3600.0) -> Any:
    return running((node, mask), est_run_s=left_s, since_s=since_s, preemptible=False)


def snapshot_of(*jobs: Any, nodes: int = 2, **world: Any) -> Snapshot:
    return World(nodes=[Node(gpus=4) for _ in range(nodes)], jobs=list(jobs), **world).snapshot()


def kept(snapshot: Snapshot, takes: Takes = "gpus") -> set[int]:
    return set(reserve(snapshot, PATIENCE_S, takes=takes).nodes)


FULL = (busy(0, 0b1111), busy(1, 0b1111))


@pytest.mark.parametrize(
    ("job", "is_overdue"),
    [
        (late(4), True),
        (queued(4, submitted_s=NOW_S - PATIENCE_S), False),
        (late(1), False),
        (late(1, cpus_per_gpu=32), True),
        (late(1, mem_mib_per_gpu=200_000), True),
        (late(4, blocked=Blocked.HELD), False),
        (late(4, attained_gpu_s=60.0), False),
    ],
)
def test_overdue_is_who_is_wide_has_never_run_and_has_waited_longer(
    job: Any, is_overdue: bool
) -> None:
    assert len(overdue_jobs(snapshot_of(job), PATIENCE_S)) == is_overdue


def test_priority_comes_before_age() -> None:
    old, urgent = late(4, submitted_s=0.0), late(4, priority=9)
    home = reserve(snapshot_of(*FULL, old, urgent), PATIENCE_S).seen.jobs.partition.tolist()
    assert home[-2] == -1 < home[-1]


def test_nobody_overdue_leaves_the_very_snapshot() -> None:
    snapshot = snapshot_of(*FULL, queued(4))
    assert reserve(snapshot, PATIENCE_S).seen is snapshot


def test_who_waits_for_quota_gets_nothing() -> None:
    assert kept(snapshot_of(*FULL, late(4), quotas=[9])) == set()
    assert kept(snapshot_of(*FULL, late(4), quotas=[12])) != set()


def test_who_waits_for_watts_gets_nothing() -> None:
    """Idle nodes of 4 x 50 W, work of 250 W above that on every GPU."""
    half = busy(0, 0b0011), busy(1, 0b0011)
    drawn_w = 2 * 200.0 + 4 * 250.0
    assert kept(snapshot_of(*half, late(4), power_budget_w=drawn_w + 999)) == set()
    assert kept(snapshot_of(*half, late(4), power_budget_w=drawn_w + 1000)) != set()


def test_who_would_not_start_now_gets_nothing() -> None:
    snapshot = snapshot_of(*FULL, late(4), late(4))
    none = reserve(snapshot, PATIENCE_S, willing=lambda rows: rows < 0)
    assert not none.nodes
    second = reserve(snapshot, PATIENCE_S, willing=lambda rows: rows == 3)
    assert np.flatnonzero(second.seen.jobs.partition == 0).tolist()[-1] == 3


def test_a_node_with_room_comes_first_then_the_one_that_has_it_soonest() -> None:
    assert kept(snapshot_of(busy(0, 0b1111), late(4))) == {1}
    assert kept(snapshot_of(busy(0, 0b1111, 900), busy(1, 0b1111, 100), late(4))) == {1}
    # Three are free there, but the fourth only in a day.
    assert kept(snapshot_of(busy(0, 0b1, 86_400), busy(1, 0b1111, 100), late(4, span=0))) == {1}
    # Nobody knows how long: the one with the most room.
    assert kept(snapshot_of(busy(0, 0b111), busy(1, 0b11), late(4, span=0))) == {1}


def test_what_was_kept_stays_kept() -> None:
    """On the second node, which was not kept, somebody has started meanwhile."""
    fresh = busy(1, 0b0001, 10, since_s=0.5)
    assert kept(snapshot_of(busy(0, 0b1111, 500), fresh, late(4, span=0))) == {0}


def test_gpus_here_and_there_will_do_unless_jobs_are_placed_in_blocks() -> None:
    spread = busy(0, 0b0101), busy(1, 0b0101)
    assert kept(snapshot_of(*spread, late(4, span=Span.ANY))) == {0, 1}
    assert kept(snapshot_of(*spread, late(4, span=Span.NODE))) == {0}
    assert kept(snapshot_of(*spread, late(2)), "gpus") == {0}
    aligned = busy(0, 0b0101), busy(1, 0b0111), busy(2, 0b0011)
    assert kept(snapshot_of(*aligned, late(2), nodes=3), "blocks") == {2}
    assert kept(snapshot_of(*aligned, late(2), nodes=4), "nodes") == {3}


def test_a_gang_gets_as_many_nodes_as_it_will_fill_within_its_span() -> None:
    nodes = [Node(gpus=4, rack=rack) for rack in (0, 1, 0, 1)]
    ends = (50, 100, 900, 200)
    jobs = [busy(node, 0b1111, left_s) for node, left_s in enumerate(ends)]
    anywhere = World(nodes=nodes, jobs=[*jobs, late(8)]).snapshot()
    in_a_rack = World(nodes=nodes, jobs=[*jobs, late(8, span=Span.RACK)]).snapshot()
    assert (kept(anywhere), kept(in_a_rack)) == ({0, 1}, {1, 3})


def test_nodes_that_are_off_count_only_for_who_can_wake_them() -> None:
    nodes = [Node(gpus=4), Node(gpus=4, state=NodeState.OFF)]
    snapshot = World(nodes=nodes, jobs=[busy(0, 0b1111), late(4)]).snapshot()
    assert set(reserve(snapshot, PATIENCE_S).nodes) == {0}
    assert set(reserve(snapshot, PATIENCE_S, wakes=True).nodes) == {1}


def test_others_are_told_that_it_is_kept_and_no_node_of_it_goes_off() -> None:
    """The gang's one node is empty, its other one not yet; a small job finds no room meanwhile."""
    jobs = [busy(1, 0b1111), late(8), queued(1)]
    snapshot = snapshot_of(*jobs)
    for name in ("sjf", "powerflow", "fairwatt", "synergy", "first-principle"):
        plan = build(name, {}).plan(snapshot)
        assert check_plan(snapshot, plan) == []
        assert (plan.starts, plan.power) == ((), ())
        assert {wait.job: wait.reason for wait in plan.iter_waits()} == {
            1001: WaitReason.OUTRANKED,
            1002: WaitReason.OUTRANKED,
        }


def test_the_budget_of_a_partition_is_parted_too() -> None:
    """Work of 2 x 250 W runs there; the watts of the late job are not given to the small ones."""
    nodes = [Node(gpus=4, partition=0) for _ in range(2)]
    jobs = [running((0, 0b0011), partition=0), late(4, partition=0)]
    jobs += [queued(1, partition=0) for _ in range(4)]
    budget_w = 2 * 200.0 + 2 * 250.0 + 4 * 250.0
    snapshot = World(
        nodes=nodes, jobs=jobs, partitions=[False], partition_budgets_w=[budget_w]
    ).snapshot()
    plan = build("sjf", {}).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert [start.job for start in plan.starts] == [1001]
