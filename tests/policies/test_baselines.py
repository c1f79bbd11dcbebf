"""What PowerFlow-style is compared with: time slicing, elastic sharing, energy-optimal clocks."""

import pytest

from policies.bench.orderings import least_share_of_life
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.registry import build
from tests.policies.test_powerflow_greedy import (
    DIPPED_JOB,
    PERFECT_JOB,
    STEADY_JOB,
    at,
    elastic,
    given_out,
    world,
)
from tests.policies.worlds import NOW_S, Node, World, queued, running


def test_time_slices_go_to_who_ran_for_the_smallest_part_of_its_life() -> None:
    jobs = [
        queued(2, submitted_s=NOW_S - 100, attained_gpu_s=100.0),
        queued(1, submitted_s=NOW_S - 100, attained_gpu_s=25.0),
        queued(1, submitted_s=NOW_S),
    ]
    key = least_share_of_life(world([Node()], jobs).snapshot(), None)  # type: ignore[arg-type]
    assert key.tolist() == [0.5, 0.25, 0.0]


def sliced(since_s: float, *, saved_s: float = NOW_S) -> Plan:
    jobs = [
        running(
            (0, 0b1),
            since_s=since_s,
            checkpoint_s=saved_s,
            submitted_s=NOW_S - 8000,
            attained_gpu_s=4000.0,
        ),
        queued(1, submitted_s=NOW_S - 8000),
    ]
    return build("gandiva", {"slice_s": 1800}).plan(world([Node(gpus=1)], jobs).snapshot())


def test_a_job_keeps_its_gpus_for_a_slice() -> None:
    assert sliced(1799.0).preempts == ()
    assert [(act.job, act.for_job) for act in sliced(1800.0).preempts] == [(1000, 1001)]
    # With most of it not saved, the slice would be lost.
    assert sliced(1800.0, saved_s=NOW_S - 900).preempts
    assert sliced(1800.0, saved_s=NOW_S - 901).preempts == ()


@pytest.mark.parametrize("name", ["fifo", "gandiva", "las", "srtf", "fifo-backfill"])
def test_every_classic_policy_can_start_jobs_at_their_efficient_clock(name: str) -> None:
    given = world([Node(gpus=8)], [elastic(), queued(1)])
    (start, other) = build(name, {"clock": "efficient"}).plan(given.snapshot()).starts
    assert {start.job: start.clock_mhz, other.job: other.clock_mhz} == {1000: 500, 1001: 0}
    assert {act.clock_mhz for act in build(name, {}).plan(given.snapshot()).starts} == {0}


def test_elastic_sharing_prefers_the_shorter_of_two_alike() -> None:
    jobs = [elastic(work=1e6), elastic(work=1e3)]
    plan = build("afs", {}).plan(world([Node(gpus=3)], jobs).snapshot())
    assert given_out(plan) == {0: (1, 1000), 1: (2, 1000)}


def test_elastic_sharing_follows_who_makes_more_of_a_gpu() -> None:
    # The short job gains 0.15 of its speed from 4 to 8 GPUs: (3.0 - 2.7) / 4 / 2.7 a GPU. The long
    # one would have 1/3 more after its doubling: 1 / (1 + 2). So the long one grows first.
    short = elastic(STEADY_JOB, work=10.0)
    short.gpus = 4
    long = elastic(PERFECT_JOB, work=1e6)
    long.gpus = 2
    plan = build("afs", {"clock": "efficient"}).plan(
        world([Node(gpus=8), Node(gpus=2)], [short, long]).snapshot()
    )
    assert given_out(plan) == {0: (4, 500), 1: (4, 500)}


def test_elastic_sharing_leaves_empty_nodes_on() -> None:
    plan = build("afs", {}).plan(world([Node(), Node()], [at(STEADY_JOB, (0, 0xFF))]).snapshot())
    assert plan.power == ()


def test_elastic_sharing_looks_past_a_count_that_is_slower() -> None:
    for gpus, given in ((8, 8), (7, 2)):
        plan = build("afs", {}).plan(world([Node(gpus=gpus)], [elastic(DIPPED_JOB)]).snapshot())
        assert given_out(plan) == {0: (given, 1000)}


@pytest.mark.parametrize("gpu_types", [(), ("A100",)])
@pytest.mark.parametrize("name", ["afs", "powerflow"])
def test_without_nodes_everybody_waits(name: str, gpu_types: tuple[str, ...]) -> None:
    given = World([], [queued(1), queued(2, gpu_types=0b10)], gpu_types=gpu_types)
    plan = build(name, {}).plan(given.snapshot())
    assert check_plan(given.snapshot(), plan) == []
    assert sorted(plan.waits.job.tolist()) == [1000, 1001]
