"""Partitions: whose nodes a job sees, what is lent, and how it is taken back."""

from typing import Any

import pytest

from policies.contract.plan import Plan
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.policies.worlds import Job, Node, World, queued, running

NODES = [Node(gpus=2, partition=0), Node(gpus=2, partition=1), Node(gpus=2, partition=-1)]


def plan_of(jobs: list[Job], lends: list[bool], policy: str = "fifo", **parameters: Any) -> Plan:
    world = World(nodes=NODES, jobs=jobs, partitions=lends)
    return build(policy, {"min_run_s": 0, **parameters}).plan(world.snapshot())


def where(plan: Plan) -> dict[int, list[int]]:
    return {start.job: [piece.node for piece in start.pieces] for start in plan.starts}


@pytest.mark.parametrize(("partition", "node"), [(0, 1), (1, 2), (-1, 3)])
def test_a_job_sees_its_own_nodes(partition: int, node: int) -> None:
    jobs = [queued(2, partition=partition), queued(2, partition=partition)]
    plan = plan_of(jobs, [False, False])
    assert where(plan) == {1000: [node]}


def test_idle_gpus_are_lent_to_the_preemptible_only() -> None:
    jobs = [
        running((0, 0b11), partition=0),
        queued(2, partition=0, preemptible=False),
        queued(2, partition=0),
    ]
    plan = plan_of(jobs, [False, True], strict=False)
    assert where(plan) == {1002: [2]}
    wait = plan.wait_of(1001)
    assert wait is not None
    assert "allow_preemption" not in {remedy.action for remedy in wait.evidence.remedies}


def test_a_partition_that_does_not_lend_keeps_its_idle_gpus() -> None:
    jobs = [running((0, 0b11), partition=0), queued(2, partition=0)]
    assert where(plan_of(jobs, [False, False])) == {}


def test_nodes_of_no_partition_are_not_lent() -> None:
    jobs = [running((0, 0b11), partition=0), queued(2, partition=0)]
    assert 3 not in [
        node for nodes in where(plan_of(jobs, [True, False])).values() for node in nodes
    ]


def test_owners_come_first_whatever_their_rank() -> None:
    jobs = [
        running((0, 0b11), partition=0),
        queued(2, partition=0, submitted_s=0.0),
        queued(2, partition=1, submitted_s=1.0),
    ]
    assert where(plan_of(jobs, [False, True])) == {1002: [2]}


def test_a_gang_may_lie_half_at_home_and_half_abroad() -> None:
    jobs = [queued(4, partition=0)]
    assert sorted(where(plan_of(jobs, [False, True]))[1000]) == [1, 2]


@pytest.mark.parametrize("policy", ["fifo", "fifo-backfill", "sjf"])
def test_lent_gpus_are_taken_back_though_the_policy_does_not_preempt(policy: str) -> None:
    jobs = [
        running((1, 0b01), partition=0, since_s=900.0),
        running((1, 0b10), partition=0, since_s=100.0),
        queued(1, partition=1),
    ]
    plan = plan_of(jobs, [True, True], policy)
    assert [preempt.job for preempt in plan.preempts] == [1001]
    wait = plan.wait_of(1002)
    assert wait is not None
    assert wait.reason is WaitReason.PREEMPTED_WORK


def test_a_borrower_does_not_stop_anybody_abroad() -> None:
    jobs = [
        running((0, 0b11), partition=0, priority=9),
        running((1, 0b11), partition=1, priority=0),
        queued(2, partition=0, priority=5),
    ]
    plan = plan_of(jobs, [True, True], "priority", preempt=True, ageing_s=0)
    assert plan.preempts == ()


def test_a_stuck_partition_does_not_hold_back_another() -> None:
    jobs = [
        running((0, 0b01), partition=0),
        queued(2, partition=0),
        queued(1, partition=0),
        queued(2, partition=1),
    ]
    assert where(plan_of(jobs, [False, False], strict=True)) == {1003: [2]}
    assert where(plan_of(jobs, [False, False], strict=False)) == {1002: [1], 1003: [2]}


def test_a_job_that_can_never_start_holds_back_nobody() -> None:
    jobs = [queued(99, partition=0), queued(1, partition=0)]
    assert where(plan_of(jobs, [False, False], strict=True)) == {1001: [1]}
