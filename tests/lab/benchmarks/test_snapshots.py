"""The snapshots that policies are timed on are sound, and the same every time."""

import numpy as np
import pytest

from lab.benchmarks.plans.fairwatt import BARS_MS
from lab.benchmarks.plans.machines import GPUS, OccupiedNodes
from lab.benchmarks.plans.policies import LARGE, MIDDLE
from lab.benchmarks.plans.snapshots import SNAPSHOTS, all_queued
from policies.contract.invariants import check_plan
from policies.contract.snapshot import JobState
from policies.registry import build

SMALL = [
    ("plan", "16x8/100/100", "fifo"),
    ("powerflow", "128x8/1000 jobs, 500 running, eta 0.7", "powerflow"),
    ("synergy", "64x8/2000 half empty", "synergy"),
]


@pytest.mark.parametrize(("bench", "case", "policy"), SMALL)
def test_a_snapshot_is_drawn_alike_and_can_be_planned(bench: str, case: str, policy: str) -> None:
    made = SNAPSHOTS[bench][case]
    snapshot = made()
    assert made().to_bytes() == snapshot.to_bytes()
    assert check_plan(snapshot, build(policy, {}).plan(snapshot)) == []
    running = snapshot.jobs.state == JobState.RUNNING
    assert running.sum() == snapshot.tenants.used_gpus.sum()


@pytest.mark.parametrize("policy", ["fifo", "fairwatt"])
def test_where_all_are_queued_and_all_fit_all_start(policy: str) -> None:
    snapshot = all_queued(3, 32)
    plan = build(policy, {}).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert len(plan.starts) == 3 * 32


def test_running_jobs_hold_what_their_nodes_lack() -> None:
    there = OccupiedNodes(2, np.array([0, 3, 9]), job_cpus=4, job_mem_mib=1000)
    nodes, placements = there.table(), there.placements(5)
    assert nodes.free_gpus.tolist() == [0xFF - 0b1001, 0xFF - 0b10]
    assert nodes.free_cpus.tolist() == [64 - 8, 64 - 4]
    assert nodes.free_mem_mib.tolist() == [512_000 - 2000, 512_000 - 1000]
    assert placements.offset.tolist() == [0, 1, 2, 3, 3, 3]
    assert placements.node.tolist() == [0, 0, 1]
    assert GPUS == 8


def test_cases_that_benchmarks_name_are_in_the_table() -> None:
    assert {MIDDLE, LARGE} <= SNAPSHOTS["plan"].keys()
    assert BARS_MS.keys() == SNAPSHOTS["fairwatt"].keys()
