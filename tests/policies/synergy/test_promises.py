"""What holds for any cluster and any sensitivity: nobody is below proportional, OPT bounds all."""

import itertools

import numpy as np
import pytest

from policies.bench.shares.needs import Needs, ProfileSpeeds, Share
from policies.contract.columns import F64
from policies.contract.plan import Plan
from policies.contract.snapshot import Blocked, JobState, ProfileTable, Span
from policies.explain.reasons import WaitReason
from policies.synergy.optimum import JobGroup, best_shares, optimum
from tests.examples import each_seed
from tests.policies.synergy.tables import CPUS, MEM_MIB, SPEEDS, after, planned, profiles, wants
from tests.policies.worlds import Node, World

CPUS_PER_GPU, MEM_PER_GPU = 3, 1000


def random_speeds(rng: np.random.Generator) -> F64:
    """Never slower with more of anything; 1 at the proportional share."""
    speeds = rng.random((len(CPUS), len(MEM_MIB))).cumsum(axis=0).cumsum(axis=1).round(2) + 0.01
    fair: F64 = speeds / speeds[1, 1]
    return fair


def crowd_of(seed: int) -> tuple[World, ProfileTable]:
    """Alike nodes and a queue of jobs of a few random kinds, some of which state requests only."""
    rng = np.random.default_rng(seed)
    gpus = int(rng.integers(1, 9))
    node = Node(gpus=gpus, cpus=CPUS_PER_GPU * gpus, mem_mib=MEM_PER_GPU * gpus)
    table = profiles([*SPEEDS, *(random_speeds(rng) for _ in range(3))])
    sizes = [1, 1, 1, 2, 4, gpus, 2 * gpus]
    jobs = [
        wants(
            int(rng.choice(sizes)),
            int(rng.integers(6)),
            span=int(Span.ANY),
            est_run_s=float(rng.integers(1, 9)),
            blocked=int(rng.choice([Blocked.NO, Blocked.NO, Blocked.DEPENDENCY])),
        )
        for _ in range(int(rng.integers(1, 25)))
    ]
    return World([node] * int(rng.integers(1, 5)), jobs), table


def speed_of(table: ProfileTable, world: World, row: int) -> tuple[float, float]:
    """What a running job has, and what it would have with its proportional share."""
    job = world.jobs[row]
    measured = ProfileSpeeds(table, job.columns["profile"])
    cpus = sum(piece[2] for piece in job.on) // job.gpus
    mem_mib = sum(piece[3] for piece in job.on) // job.gpus
    return measured.at(Share(cpus, mem_mib)), measured.at(Share(CPUS_PER_GPU, MEM_PER_GPU))


def following(world: World, plan: Plan, done: int) -> World:
    """The next round: the first running jobs have finished, and what depended on others may run."""
    world = after(world, plan)
    for job in world.jobs:
        if job.columns["blocked"] == Blocked.DEPENDENCY:
            job.columns["blocked"] = int(Blocked.NO)
    running = [row for row, job in enumerate(world.jobs) if job.state == JobState.RUNNING]
    for row in running[:done]:
        world.jobs[row].on, world.jobs[row].state = [], JobState.QUEUED
        world.jobs[row].columns["blocked"] = int(Blocked.HELD)
    return world


@pytest.mark.parametrize("packing", ["tune", "opt", "proportional", "greedy"])
@pytest.mark.parametrize("ordering", ["fifo", "srtf"])
@each_seed(40)
def test_nobody_runs_below_its_proportional_speed(packing: str, ordering: str, seed: int) -> None:
    (world, table), migration = crowd_of(seed), bool(seed % 2)
    for _ in range(4):
        plan = planned(world, table, packing=packing, ordering=ordering, migration=migration)
        world = following(world, plan, done=seed % 4)
        for row, job in enumerate(world.jobs):
            if job.state == JobState.RUNNING:
                got, fair = speed_of(table, world, row)
                assert got >= fair - 1e-9


@each_seed(40)
def test_no_gpu_is_idle_for_lack_of_cpus_or_memory(seed: int) -> None:
    world, table = crowd_of(seed)
    for _ in range(4):
        plan = planned(world, table, packing="tune")
        snapshot = after(world, plan).snapshot()
        free = int(np.bitwise_count(snapshot.nodes.free_gpus).sum())
        waiting = [world.jobs[wait.job - 1000] for wait in plan.iter_waits()]
        # What is free may be set aside for a job whose other GPUs are just being given up.
        claimed = any(wait.reason == WaitReason.PREEMPTED_WORK for wait in plan.iter_waits())
        assert claimed or all(job.gpus > free for job in waiting if not job.columns["blocked"])
        world = following(world, plan, done=seed % 4)


@each_seed(40)
def test_opt_bounds_every_packing(seed: int) -> None:
    world, table = crowd_of(seed)
    totals = {
        packing: planned(world, table, packing=packing).shown
        for packing in ("proportional", "tune", "opt")
    }
    bound = totals["opt"]["bound"]
    for shown in totals.values():
        assert shown["total_speed"] <= bound + 1e-6
    assert totals["tune"]["total_speed"] >= totals["proportional"]["total_speed"] - 1e-9


def test_the_linear_program_against_every_choice() -> None:
    own = Share(CPUS_PER_GPU, MEM_PER_GPU)
    kinds = [
        ProfileSpeeds(profiles(), row).needs(own, Share(12, 4000), Share(0, 0))
        for row in range(len(SPEEDS))
    ]
    for crowd in itertools.combinations_with_replacement(range(3), 4):
        bound = optimum([JobGroup(kinds[kind], 1, 1) for kind in crowd], 12, 4000)
        assert bound is not None
        best = _best([kinds[kind] for kind in crowd])
        assert best <= bound.total_speed + 1e-9
        # Two resources bind: at most two jobs lie between points, each by less than its range.
        assert bound.total_speed - best < 2 * 1.4


def _best(crowd: list[Needs]) -> float:
    choices = itertools.product(*(needs.points for needs in crowd))
    return max(
        sum(point.speed for point in choice)
        for choice in choices
        if sum(p.share.cpus for p in choice) <= 12 and sum(p.share.mem_mib for p in choice) <= 4000
    )


def test_whoever_has_a_share_of_the_optimum_keeps_it() -> None:
    image = ProfileSpeeds(profiles(), 0).needs(Share(3, 1000), Share(12, 4000), Share(0, 0))
    jobs = [(row, 1, image, share) for row, share in enumerate([Share(3, 1000), Share(9, 1000)])]
    shares, bound = best_shares(jobs, 12, 4000)
    assert shares == {0: Share(3, 1000), 1: Share(9, 1000)}
    assert bound == pytest.approx(3.4)
