"""Backfill: later jobs go ahead exactly when they delay no reservation."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.contract.plan import Plan
from policies.registry import build
from tests.examples import examples
from tests.policies.worlds import NOW_S, Job, Node, World, queued, running


def plan_of(jobs: list[Job], *, nodes: list[Node], policy: str, **parameters: Any) -> Plan:
    return build(policy, parameters).plan(World(nodes=nodes, jobs=jobs).snapshot())


def started(plan: Plan) -> list[int]:
    return [start.job for start in plan.starts]


def until_s(plan: Plan, job: int) -> float | None:
    wait = plan.wait_of(job)
    assert wait is not None
    return None if wait.until_s is None else wait.until_s - NOW_S


BOTH = pytest.mark.parametrize("policy", ["fifo-backfill", "conservative-backfill"])


@BOTH
@pytest.mark.parametrize(("run_s", "goes"), [(99.0, True), (100.0, True), (101.0, False)])
def test_a_job_goes_ahead_if_it_ends_before_the_head_may_start(
    policy: str, run_s: float, goes: bool
) -> None:
    jobs = [
        running((0, 0b0011), est_run_s=100.0),
        queued(4, est_run_s=1000.0),
        queued(2, est_run_s=run_s),
    ]
    plan = plan_of(jobs, nodes=[Node(gpus=4)], policy=policy)
    assert until_s(plan, 1001) == 100.0
    assert started(plan) == ([1002] if goes else [])


@BOTH
def test_a_long_job_may_use_what_the_head_leaves_over(policy: str) -> None:
    jobs = [
        running((0, 0b000111), est_run_s=100.0),
        queued(4, est_run_s=1000.0),
        # At 100 s six GPUs are free and the head takes four: two are left over, not three.
        queued(3, est_run_s=5000.0),
        queued(2, est_run_s=5000.0),
        queued(1, est_run_s=5000.0),
    ]
    plan = plan_of(jobs, nodes=[Node(gpus=6)], policy=policy)
    assert started(plan) == [1003]


def test_conservative_protects_the_second_job_where_easy_does_not() -> None:
    jobs = [
        running((0, 0b0001), est_run_s=100.0),
        running((1, 0b0001), est_run_s=300.0),
        queued(4, est_run_s=1000.0),
        queued(4, est_run_s=1000.0),
        queued(3, est_run_s=500.0),
    ]
    nodes = [Node(gpus=4), Node(gpus=4)]
    for job in jobs[2:]:
        job.columns["span"] = 0
    easy = plan_of(jobs, nodes=nodes, policy="fifo-backfill")
    assert started(easy) == [1004]
    conservative = plan_of(jobs, nodes=nodes, policy="conservative-backfill")
    assert started(conservative) == []
    assert (until_s(conservative, 1002), until_s(conservative, 1003)) == (100.0, 300.0)


def test_reservations_are_bounded() -> None:
    jobs = [running((0, 0b1), est_run_s=100.0), *(queued(1, est_run_s=10.0) for _ in range(5))]
    plan = plan_of(jobs, nodes=[Node(gpus=1)], policy="conservative-backfill", reservations=3)
    expected = [until_s(plan, job) for job in range(1001, 1006)]
    # A job is expected to run a minute at least, whatever it says.
    assert expected == [100.0, 160.0, 220.0, None, None]


def test_unknown_run_times_are_taken_from_the_parameter() -> None:
    jobs = [running((0, 0b11), since_s=60.0), queued(3, est_run_s=10.0), queued(1)]
    easy: dict[str, Any] = {"nodes": [Node(gpus=3)], "policy": "fifo-backfill"}
    plan = plan_of(jobs, **easy, default_run_s=500.0)
    assert until_s(plan, 1001) == 500.0
    assert started(plan) == [1002]


def test_partitions_have_queues_of_their_own() -> None:
    jobs = [
        running((0, 0b1), est_run_s=100.0, partition=0),
        queued(2, est_run_s=10.0, partition=0),
        queued(2, est_run_s=9999.0, partition=1),
    ]
    world = World(
        nodes=[Node(gpus=2, partition=0), Node(gpus=2, partition=1)],
        jobs=jobs,
        partitions=[False, False],
    )
    assert started(build("fifo-backfill", {}).plan(world.snapshot())) == [1002]


def test_no_borrower_is_stopped_for_room_that_is_reserved() -> None:
    jobs = [
        running((0, 0b01), partition=0, preemptible=False, est_run_s=100.0),
        running((0, 0b10), partition=1, est_run_s=100.0),
        queued(2, partition=0, est_run_s=1000.0),
        queued(1, partition=0, est_run_s=5000.0),
    ]
    world = World(nodes=[Node(gpus=2, partition=0)], jobs=jobs, partitions=[True, False])
    plan = build("fifo-backfill", {"min_run_s": 0}).plan(world.snapshot())
    assert until_s(plan, 1002) == 100.0
    assert plan.preempts == ()


@st.composite
def one_node(draw: st.DrawFn) -> list[Job]:
    jobs = [
        running((0, 1 << gpu), est_run_s=60.0 * draw(st.integers(1, 8)))
        for gpu in range(draw(st.integers(1, 6)))
    ]
    jobs += [
        queued(draw(st.integers(1, 6)), est_run_s=60.0 * draw(st.integers(1, 8)))
        for _ in range(draw(st.integers(1, 5)))
    ]
    return jobs


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(jobs=one_node())
def test_easy_never_delays_the_head(jobs: list[Job]) -> None:
    """Event by event on one node: the head finds its GPUs at the time it could have had them."""
    plan = plan_of(jobs, nodes=[Node(gpus=6)], policy="fifo-backfill")
    waits = [wait for wait in plan.iter_waits() if wait.until_s is not None]
    if not waits:
        return
    head = jobs[waits[0].job - 1000]
    before_head = {start.job for start in plan.starts if start.job < waits[0].job}
    busy = [job for job in jobs if job.on] + [jobs[job - 1000] for job in sorted(before_head)]
    alone_s = earliest_s(busy, head.gpus)
    everyone = [job for job in jobs if job.on] + [jobs[start.job - 1000] for start in plan.starts]
    assert waits[0].until_s == NOW_S + alone_s
    assert earliest_s(everyone, head.gpus) <= alone_s


def earliest_s(busy: list[Job], gpus: int) -> float:
    ends = sorted((job.columns["est_run_s"], job.gpus) for job in busy)
    free = 6 - sum(job.gpus for job in busy)
    for end_s, given_back in ends:
        if free >= gpus:
            return 0.0
        free += given_back
        if free >= gpus:
            # Others may end at the same moment, but the head needs no more.
            return float(end_s)
    raise AssertionError("the head never fits")
