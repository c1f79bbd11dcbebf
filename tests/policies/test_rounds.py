"""Round after round without arrivals: work settles, and stopped work makes way for its claimant."""

from typing import Any

import pytest

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import JobState
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.examples import each_seed
from tests.policies.random_worlds import any_size
from tests.policies.worlds import Node, World, queued, running

PREEMPTIVE: list[tuple[str, dict[str, Any]]] = [
    ("fifo", {"preempt": True}),
    ("fifo", {"preempt": True, "strict": False}),
    ("priority", {"preempt": True, "placement": "buddy"}),
    ("edf", {"preempt": True, "placement": "consolidate"}),
    ("srtf", {}),
    ("las", {"placement": "spread"}),
    ("ftf", {"preempt": True}),
    ("fair-share", {"preempt": True}),
    ("fifo-backfill", {}),
    ("fairwatt", {}),
    ("fairwatt", {"hysteresis": 1.0, "resize": False}),
]


def rounds(
    world: World, name: str, parameters: dict[str, Any], *, most: int = 60
) -> list[tuple[World, Plan]]:
    """Worlds and plans until nothing changes any more."""
    policy = build(name, {"min_run_s": 0, **parameters})
    seen = []
    for _ in range(most):
        snapshot = world.snapshot()
        plan = policy.plan(snapshot)
        assert check_plan(snapshot, plan) == []
        seen.append((world, plan))
        stopping = any(job.state == JobState.STOPPING for job in world.jobs)
        if not plan.starts and not plan.preempts and not stopping:
            return seen
        world = world.after(plan)
    raise AssertionError(f"{name} has not settled after {most} rounds")


@pytest.mark.parametrize(("name", "parameters"), PREEMPTIVE)
@each_seed(60)
def test_rounds_without_arrivals_settle(name: str, parameters: dict[str, Any], seed: int) -> None:
    world = any_size(seed, nodes=5, queue=10, run=12)
    rounds(world, name, parameters)


def reasons(plan: Plan) -> dict[int, WaitReason]:
    return {wait.job: wait.reason for wait in plan.iter_waits()}


def test_freed_gpus_go_to_the_claimant_and_to_nobody_before_it() -> None:
    world = World(
        nodes=[Node(gpus=4)],
        jobs=[
            running((0, 0b0001), priority=0),
            running((0, 0b0010), priority=0),
            queued(4, priority=9),
            queued(1, priority=1),
        ],
    )
    (_, first), (_, second), (after, third), *_ = rounds(
        world, "priority", {"preempt": True, "ageing_s": 0}
    )
    assert {preempt.job for preempt in first.preempts} == {1000, 1001}
    assert {preempt.for_job for preempt in first.preempts} == {1002}
    # Two GPUs are free now, but they are set aside: the small job must not slip in.
    assert first.starts == ()
    assert reasons(first)[1002] is WaitReason.PREEMPTED_WORK
    assert second.preempts == ()
    assert second.starts == ()
    assert [start.job for start in third.starts] == [1002]
    assert after.jobs[0].state == JobState.QUEUED


def test_partly_stopped_work_is_not_replaced_by_new_victims() -> None:
    world = World(
        nodes=[Node(gpus=4)],
        jobs=[
            running((0, 0b0011), priority=0, state=JobState.STOPPING),
            running((0, 0b1000), priority=0),
            queued(3, priority=9),
            queued(1, priority=5),
        ],
    )
    plan = build("priority", {"preempt": True, "min_run_s": 0}).plan(world.snapshot())
    assert plan.preempts == () or {p.for_job for p in plan.preempts} == {1003}
    assert reasons(plan)[1002] is WaitReason.PREEMPTED_WORK
    assert plan.starts == ()


def test_owner_takes_its_gpus_back_from_a_borrower_of_any_rank() -> None:
    world = World(
        nodes=[Node(gpus=2, partition=0), Node(gpus=2, partition=1)],
        jobs=[
            running((0, 0b11), partition=1, submitted_s=0.0),
            queued(2, partition=0),
        ],
        partitions=[True, False],
    )
    seen = rounds(world, "fifo", {})
    assert [preempt.job for preempt in seen[0][1].preempts] == [1000]
    last = seen[-1][0]
    assert [piece[0] for piece in last.jobs[1].on] == [0]
    # The borrower went home, where there was room all along.
    assert [piece[0] for piece in last.jobs[0].on] == [1]


def test_fair_share_stops_at_equal_shares() -> None:
    world = World(
        nodes=[Node(gpus=4)],
        jobs=[
            *(running((0, 1 << gpu), tenant=0) for gpu in range(4)),
            *(queued(1, tenant=1) for _ in range(4)),
        ],
        quotas=[-1, -1],
    )
    *_, (settled, _) = rounds(world, "fair-share", {"preempt": True})
    busy = [job.columns["tenant"] for job in settled.jobs if job.state == JobState.RUNNING]
    assert sorted(busy) == [0, 0, 1, 1]


def test_fair_share_follows_the_weights() -> None:
    world = World(
        nodes=[Node(gpus=8)],
        jobs=[queued(1, tenant=tenant) for tenant in (0, 1) for _ in range(8)],
        quotas=[-1, -1],
        weights=[3.0, 1.0],
    )
    plan = build("fair-share", {}).plan(world.snapshot())
    tenants = [world.jobs[start.job - 1000].columns["tenant"] for start in plan.starts]
    assert (tenants.count(0), tenants.count(1)) == (6, 2)
