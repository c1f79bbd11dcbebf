"""Every policy on generated worlds with profiles, clocks and budgets: safe, repeatable, settled."""

from typing import Any

import numpy as np
import pytest

from policies.bench.power import budget_w, drawn_w, watts_per_gpu
from policies.contract.invariants import check_plan
from policies.contract.plan_columns import Placed
from policies.contract.snapshot import JobState, Snapshot
from policies.registry import build, policy_names
from tests.examples import each_seed
from tests.policies.random_worlds import any_size, elastic_world
from tests.policies.worlds import World

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in policy_names()),
    ("powerflow", {"placement": "pack", "min_run_s": 0}),
    ("powerflow", {"power_off": False, "preempt": False}),
    ("powerflow", {"clock": "max"}),
    ("afs", {"clock": "efficient", "placement": "consolidate"}),
    ("las", {"clock": "efficient"}),
    ("fairwatt", {"min_run_s": 0, "hysteresis": 1.0}),
    ("fairwatt", {"min_run_s": 0, "preempt": False, "placement": "buddy"}),
    ("fifo", {"clock": "efficient", "migration": True, "strict": False}),
]


def world_of(seed: int) -> World:
    return any_size(seed, elastic_world, queue=12)


@pytest.mark.parametrize(
    ("name", "parameters"), VARIANTS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(VARIANTS)]
)
@each_seed(60)
def test_plans_are_safe_and_repeatable(name: str, parameters: dict[str, Any], seed: int) -> None:
    snapshot = world_of(seed).snapshot()
    plan = build(name, parameters).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    again = Snapshot.from_bytes(snapshot.to_bytes())
    assert again.canonical() == snapshot.canonical()
    assert build(name, parameters).plan(again).canonical() == plan.canonical()


@each_seed(60)
def test_no_job_is_taken_past_its_peak(seed: int) -> None:
    """Of what was chosen for a job, no step back would have been faster."""
    snapshot = world_of(seed).snapshot()
    jobs, profiles = snapshot.jobs, snapshot.profiles
    plan = build("powerflow", {}).plan(snapshot)
    placed = Placed.of(snapshot, plan)
    total = placed.per_job(len(jobs))
    for row in np.unique(placed.job).tolist():
        gpus, profile = int(total[row]), int(jobs.profile[row])
        least = int(jobs.min_gpus[row])
        if profile < 0 or gpus == least:
            continue
        kind = int(snapshot.nodes.gpu_type[placed.node[placed.job == row][0]])
        at = int(
            np.argmin(np.abs(profiles.clocks_mhz[kind] - placed.clock_mhz[placed.job == row][0]))
        )
        speed = profiles.throughput[profile, kind, :, at]
        now, half = np.interp([gpus, gpus // 2], profiles.gpu_counts, speed)
        assert now > half


@pytest.mark.slow
@each_seed(60)
def test_what_is_drawn_falls_towards_a_budget_that_is_exceeded(seed: int) -> None:
    """Round after round without arrivals, but for jobs on nodes that are not the policy's."""
    policy = build("powerflow", {"min_run_s": 0, "power_off": False})
    world = world_of(seed)
    for job in world.jobs:
        job.columns["preemptible"], job.columns["min_run_s"] = True, 0.0
    world.partition_budgets_w = None
    for _ in range(12):
        snapshot = world.snapshot()
        plan = policy.plan(snapshot)
        assert check_plan(snapshot, plan) == []
        world = world.after(plan)
    snapshot = world.snapshot()
    drawn = float(drawn_w(snapshot, watts_per_gpu(snapshot)).sum())
    fixed = _elsewhere(snapshot)
    idle = float(drawn_w(snapshot, watts_per_gpu(snapshot) * 0 + 50.0).sum())
    assert drawn <= max(budget_w(snapshot), idle) + 1 or fixed


def _elsewhere(snapshot: Snapshot) -> bool:
    """Whether a job holds GPUs of a node that is not ready or of another partition."""
    nodes, held = snapshot.nodes, snapshot.placements
    job = held.job_of_piece()
    away = nodes.partition[held.node] != snapshot.jobs.partition[job]
    return bool((away | (nodes.state[held.node] != 0)).any()) or bool(
        (snapshot.jobs.state == JobState.STOPPING).any()
    )
