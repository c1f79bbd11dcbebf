"""CPUs and memory by sensitivity: small cases by hand, and what holds on generated worlds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs import Share
from policies.bench.shares.needs_table import NeedsTable
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import JobState, Snapshot
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import problem_of
from policies.registry import build
from tests.examples import each_seed
from tests.policies.random_worlds import any_size, sensitive_world
from tests.policies.synergy.tables import (
    IMAGE,
    LANGUAGE,
    SPEECH,
    profiles,
    seen,
    shares,
    wants,
)
from tests.policies.worlds import NOW_S, Job, Node, Piece, World, profiles_of

# Proportional: three CPUs and 1000 MiB per GPU.
FOUR = Node(gpus=4, cpus=12, mem_mib=4000)
HOUR_S = 3600.0


def runs(*on: Piece, profile: int = -1, **columns: Any) -> Job:
    gpus = sum(mask.bit_count() for _, mask, _, _ in on)
    facts = {"profile": profile, "started_s": NOW_S - HOUR_S, "checkpoint_s": NOW_S, **columns}
    return Job(gpus=gpus, on=list(on), state=JobState.RUNNING, columns=facts)


def plan_of(world: World, *, hands_over: bool = False, **parameters: Any) -> Plan:
    snapshot = replace(seen(world), hands_over=hands_over)
    chosen = {"min_run_s": 0, "placement": "pack", **parameters}
    plan = build("fairwatt", chosen).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def test_the_sensitive_job_gets_its_demand_and_the_other_what_it_needs() -> None:
    plan = plan_of(World([FOUR], [wants(1, IMAGE), wants(1, LANGUAGE)]))
    assert shares(plan) == {0: (9, 1000), 1: (1, 500)}


def test_run_times_and_money_know_the_speed() -> None:
    """Two hours of work at 2.4 times the speed; the other job takes its two hours."""
    jobs = [wants(1, kind, work_left=7200.0) for kind in (IMAGE, LANGUAGE)]
    plan = plan_of(World([FOUR], jobs), wait_price_per_h=1.0, assumed_price_per_kwh=0.0)
    assert [one.run_s for one in plan.expected] == pytest.approx([3000.0, 7200.0])
    # Both have waited for longer than they would in a cluster of their own.
    fair = plan_of(
        World([FOUR], jobs), wait_price_per_h=1.0, assumed_price_per_kwh=0.0, fairness=0.0
    )
    assert fair.objective == pytest.approx(3000 / 3600 + 2.0)


@pytest.mark.parametrize(("cpus", "speed"), [(1, 0.3), (3, 1.0), (8, 1.7), (9, 2.4)])
def test_a_running_job_is_planned_at_the_speed_of_its_share(cpus: int, speed: float) -> None:
    job = runs((0, 1, cpus, 1000), profile=IMAGE, work_left=7200.0)
    problem = problem_of(seen(World([FOUR], [job])), FairwattParameters(min_run_s=0))
    (run_s,) = problem.ways.run_s[problem.ways.stays]
    assert run_s == pytest.approx(7200.0 / speed)


@pytest.mark.parametrize(("free_cpus", "speed"), [(6, 1.0), (8, 1.35), (12, 1.7)])
def test_a_queued_job_is_promised_what_running_ones_do_not_lack(
    free_cpus: int, speed: float
) -> None:
    """One that runs lacks six CPUs: of eight two are for others, a quarter, and of twelve half."""
    short = runs((0, 1, 3, 1000), profile=IMAGE, work_left=7200.0)
    node = Node(gpus=2, cpus=3 + free_cpus, mem_mib=4000)
    # A node with nothing to give keeps the proportional share at three CPUs.
    lean = Node(gpus=1, cpus=3, mem_mib=1000)
    full = runs((1, 1, 3, 1000), cpus_per_gpu=3, mem_mib_per_gpu=1000)
    world = World([node, lean], [short, full, wants(1, IMAGE, work_left=7200.0)])
    problem = problem_of(seen(world), FairwattParameters(min_run_s=0))
    queued = problem.ways.job() == 2
    assert problem.ways.run_s[queued] == pytest.approx([7200.0 / speed])
    # Alike jobs rank alike, whatever their share: the first would start as fast as the third.
    assert problem.gpu_s()[0] == pytest.approx(problem.gpu_s()[2], abs=2.0)


def test_a_resident_gives_back_what_it_has_beyond_its_modest_share() -> None:
    resident = runs((0, 0b0001, 9, 1000), profile=IMAGE, work_left=7200.0)
    plan = plan_of(World([FOUR], [resident, wants(3, IMAGE)]))
    assert [retune.job for retune in plan.retunes] == [1000]
    assert shares(plan) == {0: (3, 1000), 1: (9, 3000)}


def test_a_resident_that_only_states_requests_gives_nothing() -> None:
    stated = runs((0, 0b0001, 9, 1000), cpus_per_gpu=9, mem_mib_per_gpu=1000)
    plan = plan_of(World([FOUR], [stated, wants(3, IMAGE)]))
    assert (plan.starts, plan.retunes) == ((), ())


def test_what_is_left_goes_to_who_is_below_its_demand() -> None:
    hungry = runs((0, 0b0001, 3, 1000), profile=IMAGE, work_left=7200.0)
    content = runs((0, 0b1110, 9, 3000), profile=LANGUAGE)
    plan = plan_of(World([FOUR], [hungry, content]))
    assert shares(plan) == {0: (9, 1000), 1: (3, 1500)}


@pytest.mark.parametrize(
    ("restart_cost_s", "resize", "moved"), [(60.0, True, 2), (9000.0, True, 0), (60.0, False, 0)]
)
def test_places_are_changed_where_that_pays(
    restart_cost_s: float, resize: bool, moved: int
) -> None:
    """Three hours at speed 1 against one and a quarter; both restart for it, counted twice."""
    two = Node(gpus=2, cpus=6, mem_mib=4000)
    wide = Node(gpus=2, cpus=12, mem_mib=4000)
    cost = {"restart_cost_s": restart_cost_s}
    stuck = runs((0, 0b01, 3, 1000), profile=IMAGE, work_left=3 * HOUR_S, **cost)
    beside = runs((0, 0b10, 3, 1000), cpus_per_gpu=3, mem_mib_per_gpu=1000, preemptible=False)
    there = [
        runs((1, 0b01, 1, 500), profile=LANGUAGE, work_left=3 * HOUR_S, **cost),
        runs((1, 0b10, 1, 500), profile=LANGUAGE, preemptible=False),
    ]
    plan = plan_of(World([two, wide], [stuck, beside, *there]), resize=resize)
    assert len(plan.moves) == moved
    if moved:
        assert shares(plan) == {0: (9, 1000), 2: (1, 500)}


def test_work_that_gave_cpus_away_is_not_stopped_in_the_same_plan() -> None:
    """The first newcomer takes three of its CPUs; the second would like its GPU, and waits."""
    node = Node(gpus=2, cpus=6, mem_mib=2000)
    resident = runs((0, 0b01, 6, 1000), profile=IMAGE, work_left=50 * HOUR_S)
    hasty = [wants(1, IMAGE, work_left=600.0), wants(1, IMAGE, work_left=900.0)]
    plan = plan_of(World([node], [resident, *hasty]), wait_price_per_h=1.0)
    assert ([start.job for start in plan.starts], plan.preempts) == ([1001], ())
    assert shares(plan) == {0: (3, 1000), 1: (3, 1000)}
    at_once = plan_of(World([node], [resident, *hasty]), hands_over=True, wait_price_per_h=1.0)
    assert [stop.job for stop in at_once.preempts] == [1000]
    assert shares(at_once) == {1: (3, 1000), 2: (3, 1000)}


def test_a_job_that_gets_another_clock_keeps_its_share() -> None:
    """Half the watts for nine tenths of the speed, and nothing is paid for waiting."""
    table = profiles_of([[[0.9, 1.0]]], [[[100.0, 300.0]]], counts=(1,), clocks=(500, 1000))
    of_image = profiles()
    table = replace(
        table,
        cpus_per_gpu=of_image.cpus_per_gpu,
        mem_mib_per_gpu=of_image.mem_mib_per_gpu,
        relative_speed=of_image.relative_speed[:1],
    )
    job = runs((0, 0b0001, 3, 1000), profile=0, work_left=7200.0, clock_mhz=1000)
    snapshot = seen(World([FOUR], [job]), table)
    dear = build("fairwatt", {"min_run_s": 0, "wait_price_per_h": 0.0}).plan(snapshot)
    assert check_plan(snapshot, dear) == []
    assert ([act.clock_mhz for act in dear.clocks], dear.retunes) == ([500], ())
    fast = build("fairwatt", {"min_run_s": 0, "wait_price_per_h": 10.0}).plan(snapshot)
    assert (fast.clocks, shares(fast)) == ((), {0: (9, 1000)})


def test_memory_comes_with_the_cpus_that_need_it() -> None:
    assert shares(plan_of(World([FOUR], [wants(1, SPEECH)]))) == {0: (6, 2000)}


VARIANTS: list[dict[str, Any]] = [
    {},
    {"min_run_s": 0, "hysteresis": 1.0},
    {"min_run_s": 0, "preempt": False, "placement": "buddy"},
    {"min_run_s": 0, "resize": False, "placement": "consolidate"},
    {"min_run_s": 0, "hysteresis": 1.0, "wait_price_per_h": 10.0, "fairness": 0.0},
]


@pytest.mark.parametrize("parameters", VARIANTS, ids=range(len(VARIANTS)))
@each_seed(60)
def test_plans_are_safe_and_repeatable_and_starts_not_starved(
    parameters: dict[str, Any], seed: int
) -> None:
    world = any_size(seed, sensitive_world, queue=14)
    snapshot = replace(world.snapshot(), hands_over=bool(seed % 2))
    plan = build("fairwatt", parameters).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    again = Snapshot.from_bytes(snapshot.to_bytes())
    assert build("fairwatt", parameters).plan(again).canonical() == plan.canonical()
    # The third profile knows nothing, like jobs that have none.
    if np.isin(snapshot.jobs.profile, [0, 1]).any():
        assert_nobody_starved(snapshot, plan)


def assert_nobody_starved(snapshot: Snapshot, plan: Plan) -> None:
    """Who starts has what it can always have, at least."""
    roster = JobShares(snapshot, NeedsTable(snapshot))
    row_of = {job: row for row, job in enumerate(snapshot.jobs.id.tolist())}
    for start in plan.starts:
        gpus = sum(piece.gpus.bit_count() for piece in start.pieces)
        needs = roster.needs(row_of[start.job], gpus)
        cpus = sum(piece.cpus for piece in start.pieces) // gpus
        mem_mib = sum(piece.mem_mib for piece in start.pieces) // gpus
        got = needs.speed(Share(cpus, mem_mib))
        assert got >= needs.speed(needs.modest)
