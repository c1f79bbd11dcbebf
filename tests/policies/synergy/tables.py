"""Worlds with sensitivity: a few profiles over CPUs and memory per GPU, and rounds over them."""

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from policies.contract.invariants import check_plan
from policies.contract.plan import Placing, Plan, Retune
from policies.contract.snapshot import ProfileTable, Snapshot
from policies.registry import build
from tests.policies.worlds import Job, World

CPUS = (1, 3, 6, 9)
MEM_MIB = (500, 1000, 2000)
IMAGE, LANGUAGE, SPEECH = 0, 1, 2
SPEEDS = (
    # Wants CPUs, up to nine; half the proportional memory starves it.
    ((0.1, 0.3, 0.3), (0.1, 1.0, 1.0), (0.1, 1.7, 1.7), (0.1, 2.4, 2.4)),
    # One CPU and half the memory are enough.
    ((1.0, 1.0, 1.0),) * 4,
    # Six CPUs help only with twice the memory.
    ((0.1, 0.3, 0.3), (0.1, 1.0, 1.0), (0.1, 1.0, 2.0), (0.1, 1.0, 2.0)),
)


def profiles(speeds: Sequence[Any] = SPEEDS) -> ProfileTable:
    none = np.full((len(speeds), 1, 1, 1), 1.0)
    return ProfileTable.of(
        id=np.arange(len(speeds)),
        gpu_counts=[1],
        clocks_mhz=[[1]],
        throughput=none,
        watts_per_gpu=none,
        cpus_per_gpu=CPUS,
        mem_mib_per_gpu=MEM_MIB,
        relative_speed=np.array(speeds),
    )


def seen(world: World, table: ProfileTable | None = None) -> Snapshot:
    return dataclasses.replace(world.snapshot(), profiles=table or profiles())


def wants(gpus: int, profile: int, **columns: Any) -> Job:
    return Job(gpus=gpus, columns={"profile": profile, **columns})


def planned(world: World, table: ProfileTable | None = None, **parameters: Any) -> Plan:
    snapshot = seen(world, table)
    plan = build("synergy", {"min_run_s": 0, **parameters}).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def shares(plan: Plan) -> dict[int, tuple[int, int]]:
    """CPUs and MiB by the row of every job that a plan starts, moves or retunes."""
    acts: list[Placing | Retune] = [*plan.starts, *plan.moves, *plan.retunes]
    return {
        act.job - 1000: (sum(p.cpus for p in act.pieces), sum(p.mem_mib for p in act.pieces))
        for act in acts
    }


def after(world: World, plan: Plan) -> World:
    """As the next round finds it: also with the new shares of those that went on running."""
    following = world.after(plan)
    acts: list[Placing | Retune] = [*plan.retunes, *plan.moves]
    for act in acts:
        following.jobs[act.job - 1000].on = [
            (piece.node - 1, piece.gpus, piece.cpus, piece.mem_mib) for piece in act.pieces
        ]
    return copy.deepcopy(following)
