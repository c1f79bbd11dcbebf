"""Watts by hand: at the clock of a job, per partition, by joules, and what a plan adds to them."""

import math
from typing import Any

import numpy as np
import pytest

from policies.bench.power import budget_w, drawn_w, limited, watts_per_gpu
from policies.contract import encoding
from policies.contract.invariants import check_plan
from policies.contract.plan import Piece, Plan, PowerNode, Resize, SetClock, Start
from policies.contract.snapshot import NodeState, Snapshot
from policies.registry import build
from tests.policies.worlds import NOW_S, Node, World, profiles_of, queued, running

# Watts per GPU on 1 and 2 GPUs at 500 and at 1000 MHz; GPUs idle at 50 W.
PROFILES = profiles_of(
    [[[1.0, 1.5], [1.8, 2.7]]], [[[90.0, 180.0], [80.0, 160.0]]], counts=(1, 2), clocks=(500, 1000)
)


def world(**given: Any) -> World:
    return World(
        nodes=[
            Node(gpus=2, state=state, host_idle_w=100.0, host_peak_w=180.0)
            for state in (NodeState.READY, NodeState.OFF)
        ],
        jobs=[
            running((0, 0b01), profile=0, clock_mhz=500, submitted_s=0.0),
            queued(1, profile=0, submitted_s=1.0),
        ],
        profiles=PROFILES,
        **given,
    )


def start(clock_mhz: int) -> Plan:
    return Plan(starts=(Start(1001, (Piece(1, 0b10, 0, 0),), clock_mhz),))


def broken(given: World, plan: Plan) -> list[str]:
    found = check_plan(given.snapshot(), plan)
    return [violation.code for violation in found if violation.code != "no_entry"]


def test_what_runs_is_priced_at_its_clock_and_what_waits_at_the_highest() -> None:
    assert watts_per_gpu(world().snapshot()).tolist() == [[90.0], [180.0]]
    pair = World([Node(gpus=2)], [running((0, 0b11), profile=0)], profiles=PROFILES)
    assert watts_per_gpu(pair.snapshot()).tolist() == [[160.0]]


def test_the_draw_is_idle_nodes_plus_busy_gpus_and_their_share_of_the_host() -> None:
    snapshot = world().snapshot()
    # Host 100 + 2 GPUs x 50, then 90 - 50 + 80/2 for the busy one; the dark node draws nothing.
    assert drawn_w(snapshot, watts_per_gpu(snapshot)).tolist() == [200.0 + 80.0]


@pytest.mark.parametrize(
    ("plan", "draw_w"),
    [
        (start(500), 280 + 80),
        (start(1000), 280 + 170),
        (start(0), 280 + 170),
        (Plan(clocks=(SetClock(1000, 1000),)), 280 + 90),
        (Plan(power=(PowerNode(2, on=True),)), 280 + 200),
        # 2 GPUs x (160 - 50 + 40) instead of 80.
        (Plan(resizes=(Resize(1000, (Piece(1, 0b11, 0, 0),), 1000),)), 280 + 220),
    ],
)
def test_a_plan_is_held_to_the_watts_it_adds_at_its_clocks(plan: Plan, draw_w: float) -> None:
    job_world = world(power_budget_w=draw_w)
    job_world.jobs[0].max_gpus = 2
    assert broken(job_world, plan) == []
    job_world.power_budget_w = draw_w - 1
    assert broken(job_world, plan) == ["power"]


def test_a_lower_clock_makes_room_for_a_start_in_the_same_plan() -> None:
    fast = world(power_budget_w=370)
    fast.jobs[0].columns["clock_mhz"] = 1000
    both = Plan(starts=start(500).starts, clocks=(SetClock(1000, 500),))
    assert broken(fast, both) == []
    assert broken(fast, start(500)) == ["power"]


def test_partitions_have_budgets_of_their_own() -> None:
    given = world(partitions=[False], partition_budgets_w=[360.0])
    for node in given.nodes:
        node.partition = 0
    for job in given.jobs:
        job.columns["partition"] = 0
    assert limited(given.snapshot())
    assert broken(given, start(500)) == []
    assert broken(given, start(1000)) == ["power"]
    # The classic policies start at the highest clock: 90 W too much.
    plan = build("fifo", {}).plan(given.snapshot())
    assert plan.starts == ()
    (wait,) = plan.iter_waits()
    assert [(r.action, r.by) for r in wait.evidence.remedies] == [("raise_power_budget", 90.0)]


def test_joules_become_watts_over_the_time_left() -> None:
    given = world(power_budget_w=500.0, cluster_energy_left_j=3.6e6, energy_until_s=NOW_S + 7200)
    assert budget_w(given.snapshot()) == 500.0
    given.energy_until_s = NOW_S + 36_000
    assert budget_w(given.snapshot()) == 100.0
    assert not limited(world().snapshot())


def test_snapshots_stored_before_there_were_energy_budgets_are_read() -> None:
    snapshot = world().snapshot()
    columns, texts = encoding.decode(snapshot.to_bytes())
    old = {
        name: values
        for name, values in columns.items()
        if name not in {"energy", "partitions.power_budget_w"}
    }
    again = Snapshot.from_bytes(encoding.compress(encoding.canonical(old, texts)))
    assert math.isinf(again.energy_left_j)
    assert math.isinf(again.energy_until_s)
    assert np.isinf(again.partitions.power_budget_w).all()
    assert again.canonical() == snapshot.canonical()
