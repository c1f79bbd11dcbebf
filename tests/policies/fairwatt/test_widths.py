"""Elastic jobs by hand: who shares, who grows, who gives back, and what short jobs weigh."""

from typing import Any

import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.contract.snapshot import ProfileTable
from policies.fairwatt.widths import Steps, short_first
from policies.registry import build
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

COUNTS = (1, 2, 4, 8)
ROOT = np.sqrt(COUNTS)


def elastic(work_left: float = 3600.0) -> Job:
    """Speeds up with the square root of its GPUs."""
    job = queued(1, profile=0, work_left=work_left, submitted_s=NOW_S)
    job.max_gpus = 8
    return job


def profiles() -> ProfileTable:
    speed = [[[float(root)] for root in ROOT]]
    return profiles_of(speed, [[[100.0]] * len(COUNTS)], counts=COUNTS, clocks=(1000,))


def plan_of(world: World, **parameters: Any) -> Plan:
    given = {"wait_price_per_h": 1.0, "fairness": 0.0, "min_run_s": 0.0, "power_off": False}
    return build("fairwatt", {**given, **parameters}).plan(world.snapshot())


def counts(plan: Plan) -> dict[int, int]:
    entries = (*plan.starts, *plan.resizes)
    return {e.job - 1000: sum(piece.gpus.bit_count() for piece in e.pieces) for e in entries}


def test_jobs_share_the_gpus_rather_than_wait_for_each_other() -> None:
    """One after the other on eight takes 0.35 and 0.71 h, at once on four 0.5 h each."""
    world = World(nodes=[Node(gpus=8)], jobs=[elastic(), elastic()], profiles=profiles())
    assert counts(plan_of(world)) == {0: 4, 1: 4}


def test_a_short_job_gets_more_than_long_ones() -> None:
    """Work weighs 1, 3**0.5 and 5**0.5; the step from two to four is worth 0.66 per GPU to the
    shortest, after 0.93 and 0.72 for the second GPUs of the shorter two, and before 0.41."""
    jobs = [elastic(), elastic(600.0), elastic(60.0)]
    world = World(nodes=[Node(gpus=8)], jobs=jobs, profiles=profiles())
    assert counts(plan_of(world)) == {0: 2, 1: 2, 2: 4}


def test_a_job_wants_no_more_gpus_than_are_worth_their_energy() -> None:
    """Eight GPUs finish in 0.35 h for eight times the watts: cheap only if waiting is dear."""
    world = World(nodes=[Node(gpus=8)], jobs=[elastic()], profiles=profiles())
    dear = {"assumed_price_per_kwh": 10.0}
    assert counts(plan_of(world, **dear, wait_price_per_h=0.1)) == {0: 1}
    assert counts(plan_of(world, **dear, wait_price_per_h=100.0)) == {0: 8}


def holding(mask: int, **columns: Any) -> Job:
    job = running((0, mask), profile=0, work_left=36_000.0, checkpoint_s=NOW_S, **columns)
    job.gpus, job.max_gpus = 1, 8
    return job


def test_a_running_job_gives_gpus_back_to_a_newcomer_and_grows_when_alone() -> None:
    crowded = World(nodes=[Node(gpus=8)], jobs=[holding(0xFF), elastic()], profiles=profiles())
    plan = plan_of(crowded)
    assert counts(plan) == {0: 4}
    assert not plan.preempts
    alone = World(nodes=[Node(gpus=8)], jobs=[holding(0xF)], profiles=profiles())
    assert counts(plan_of(alone)) == {0: 8}
    nearly_done = holding(0xF, restart_cost_s=36_000.0)
    assert counts(plan_of(World([Node(gpus=8)], [nearly_done], profiles=profiles()))) == {}


def test_a_job_grows_as_far_as_there_is_room() -> None:
    """Eight it wants, three are free beside its one: four is the next count that fits."""
    rigid = running((0, 0xF0), est_run_s=1e6)
    rigid.columns["preemptible"] = False
    world = World(nodes=[Node(gpus=8)], jobs=[holding(0x1), rigid], profiles=profiles())
    assert counts(plan_of(world)) == {0: 4}


def test_weights_are_those_of_hesrpt() -> None:
    """With speed k**0.5 the k-th largest job weighs (k**2 - (k - 1)**2)**0.5."""
    jobs = 4
    way = np.arange(2 * jobs)
    steps = Steps(
        job=np.arange(jobs),
        first=np.arange(0, 2 * jobs + 1, 2),
        way=way,
        gpus=np.tile([1, 4], jobs),
        speed=np.tile([1.0, 2.0], jobs),
        wanted=way[1::2],
    )
    weights = short_first(np.array([30.0, 10.0, 40.0, 20.0]), steps)
    assert weights == pytest.approx(np.sqrt([3, 7, 1, 5]))
