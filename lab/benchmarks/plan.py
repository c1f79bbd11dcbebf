"""How long the brain takes: milliseconds to plan, to check the plan, and to encode the snapshot.

Run with `python -m lab.benchmarks.plan`; prints one JSON line per figure.
"""

import gc
import json
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import (
    GpuTypeTable,
    JobState,
    JobTable,
    NodeTable,
    PartitionTable,
    Placements,
    PriceTable,
    ProfileTable,
    Snapshot,
    TenantTable,
)
from policies.registry import build

NOW_S = 1_790_000_000.0
GPUS = 8
PLAN_BAR_MS = 150.0
CHECK_BAR_MS = 50.0
ENCODE_BAR_MS = 100.0
REPEATS = 5

SIZES = [(16, 100, 100), (128, 1_000, 1_000), (1_250, 10_000, 10_000)]
FULL = SIZES[-1]
HALF_EMPTY = (1_250, 10_000, 5_000)
POLICIES: list[tuple[str, str, dict[str, Any]]] = [
    ("fifo", "fifo", {}),
    ("fifo-backfill", "fifo-backfill", {}),
    ("conservative-backfill", "conservative-backfill", {}),
    ("priority", "priority", {}),
    ("fair-share", "fair-share", {"preempt": True}),
    ("las", "las", {}),
    ("srtf", "srtf", {}),
    ("srtf-unbounded", "srtf", {"max_preemptions": 100_000}),
]
# Stopping thousands of jobs in one round is no promise, only a figure worth knowing.
UNBARRED = {"srtf-unbounded"}


def snapshot_of(nodes: int, queued: int, running: int, *, gangs: bool) -> Snapshot:
    """Single-GPU jobs run; single-GPU jobs wait, or with `gangs` one in five asks for more."""
    rng = np.random.default_rng(7)
    slots = rng.permutation(nodes * GPUS)[:running]
    jobs = running + queued
    node = np.arange(nodes)
    used = np.bincount(slots // GPUS, minlength=nodes)
    free = np.full(nodes, (1 << GPUS) - 1, np.uint64)
    np.bitwise_and.at(free, slots // GPUS, ~(np.uint64(1) << (slots % GPUS).astype(np.uint64)))
    gpus = np.ones(jobs, np.int32)
    if gangs:
        gpus[running:] = rng.choice([1, 2, 4, 8, 16], queued, p=[0.8, 0.08, 0.06, 0.05, 0.01])
    tenant = rng.integers(0, 20, jobs)
    held = np.bincount(tenant[:running], minlength=20)
    est_total_s = np.exp(rng.normal(8.5, 1.2, jobs))
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(jobs) + 1,
            tenant=tenant,
            state=np.repeat([JobState.RUNNING, JobState.QUEUED], [running, queued]),
            submitted_s=NOW_S - rng.uniform(0, 7 * 86400, jobs),
            min_gpus=gpus,
            max_gpus=gpus,
            gpu_types=np.ones(jobs, np.uint64),
            cpus_per_gpu=np.full(jobs, 4),
            mem_mib_per_gpu=rng.choice([16_000, 32_000], jobs),
            priority=rng.integers(0, 5, jobs),
            attained_gpu_s=rng.exponential(20_000, jobs),
            est_total_s=est_total_s,
            est_run_s=est_total_s * rng.uniform(0.1, 1, jobs),
            started_s=np.where(
                np.arange(jobs) < running, NOW_S - rng.uniform(0, 7200, jobs), np.nan
            ),
            restart_cost_s=np.full(jobs, 60.0),
        ),
        placements=Placements.of(
            offset=np.minimum(np.arange(jobs + 1), running),
            node=slots // GPUS,
            gpus=np.uint64(1) << (slots % GPUS).astype(np.uint64),
            cpus=np.full(running, 4),
            mem_mib=np.full(running, 32_000),
        ),
        nodes=NodeTable.of(
            id=node + 1,
            gpu_type=np.zeros(nodes),
            gpus=np.full(nodes, GPUS),
            free_gpus=free,
            cpus=np.full(nodes, 64),
            free_cpus=64 - 4 * used,
            mem_mib=np.full(nodes, 512_000),
            free_mem_mib=512_000 - 32_000 * used,
            rack=node // 8,
            switch=node // 32,
        ),
        gpu_types=GpuTypeTable.of(name=("A100",)),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=TenantTable.of(
            id=np.arange(20) + 1,
            used_gpus=held,
            quota_by_type=np.full((20, 1), -1),
            used_by_type=held[:, None],
        ),
        profiles=ProfileTable.none(1),
        prices=PriceTable.unknown(),
    )


class Taken(NamedTuple):
    """Milliseconds on the wall and of this process; neighbours on the machine stretch the first."""

    wall_ms: float
    cpu_ms: float


def best(action: Callable[[], object]) -> Taken:
    """The best of a few runs, each measure for itself."""
    taken = []
    for _ in range(REPEATS):
        gc.collect()
        began, began_cpu = time.perf_counter(), time.process_time()
        action()
        taken.append((time.perf_counter() - began, time.process_time() - began_cpu))
    return Taken(*(min(each) * 1000 for each in zip(*taken, strict=True)))


def figure(case: str, metric: str, value: float, unit: str, bar: float | None) -> None:
    line: dict[str, Any] = {"bench": "plan", "case": case, "metric": metric}
    line |= {"value": round(value, 3), "unit": unit}
    if bar is not None:
        line |= {"bar": bar, "holds": value <= bar}
    print(json.dumps(line), flush=True)


def _plan(name: str, parameters: dict[str, Any], snapshot: Snapshot) -> Plan:
    """As a live round does: a policy that keeps nothing of earlier rounds, and every reason."""
    return build(name, parameters).plan(snapshot).settled()


def measure(case: str, snapshot: Snapshot, *, barred: bool) -> dict[str, float]:
    plan_ms: dict[str, float] = {}
    for label, name, parameters in POLICIES:
        make = partial(_plan, name, parameters, snapshot)
        plan = make()
        planned = best(make)
        plan_ms[label] = planned.wall_ms
        bar = PLAN_BAR_MS if barred and label not in UNBARRED else None
        figure(f"{case} {label}", "plan_ms", planned.wall_ms, "ms", bar)
        figure(f"{case} {label}", "plan_cpu_ms", planned.cpu_ms, "ms", None)
        check_ms = best(partial(check_plan, snapshot, plan)).wall_ms
        figure(f"{case} {label}", "check_ms", check_ms, "ms", CHECK_BAR_MS if barred else None)
    encode_ms = best(snapshot.to_bytes).wall_ms
    figure(case, "encode_ms", encode_ms, "ms", ENCODE_BAR_MS if barred else None)
    return plan_ms


def main() -> None:
    by_size: list[dict[str, float]] = []
    for nodes, queued, running in SIZES:
        case = f"{nodes}x{GPUS}/{queued}/{running}"
        snapshot = snapshot_of(nodes, queued, running, gangs=False)
        by_size.append(measure(case, snapshot, barred=nodes == SIZES[-1][0]))
    for (nodes, queued, running), gangs in ((HALF_EMPTY, False), (HALF_EMPTY, True), (FULL, True)):
        case = f"{nodes}x{GPUS}/{queued}/{running}" + ("/gangs" if gangs else "")
        measure(case, snapshot_of(nodes, queued, running, gangs=gangs), barred=True)
    (_, middle, _), (_, large, _) = SIZES[1:]
    allowed = large * math.log(large) / (middle * math.log(middle))
    for label, *_ in POLICIES:
        growth = by_size[2][label] / by_size[1][label]
        bar = None if label in UNBARRED else round(allowed, 3)
        figure(f"{middle}->{large} {label}", "plan_growth", growth, "x", bar)


if __name__ == "__main__":
    main()
