"""How long Synergy takes for one plan of a full cluster with a long queue.

Run with `python -m lab.benchmarks.synergy`; prints one JSON line per figure.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lab.benchmarks.figures import figure
from lab.benchmarks.plan import GPUS, NOW_S, best
from policies.contract.invariants import check_plan
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

PLAN_BAR_MS = 250.0
NODES, JOBS = 64, 2_000
CPUS, MEM_MIB = 24, 512_000
GRID_CPUS, GRID_MEM_MIB = (1, 2, 3, 4, 5, 6, 9, 12, 24), (21_334, 64_000, 128_000, 192_000, 256_000)
KINDS = 12


def profiles(rng: np.random.Generator) -> ProfileTable:
    """Twelve kinds, from insensitive ones to one that is four times as fast with nine CPUs."""
    cpus, mem = np.array(GRID_CPUS), np.array(GRID_MEM_MIB)
    wanted = rng.choice([1, 3, 4, 6, 9, 12], KINDS)
    by_cpus = np.minimum(cpus[None, :] / wanted[:, None], 1.0)
    by_mem = np.where(mem >= rng.choice([0, 64_000, 128_000], KINDS)[:, None], 1.0, 0.8)
    speed = by_cpus[:, :, None] * by_mem[:, None, :]
    none = np.full((KINDS, 1, 1, 1), np.nan)
    return ProfileTable.of(
        id=np.arange(KINDS) + 1,
        gpu_counts=[1],
        clocks_mhz=[[1]],
        throughput=np.ones_like(none),
        watts_per_gpu=none,
        cpus_per_gpu=cpus,
        mem_mib_per_gpu=mem,
        relative_speed=speed / speed[:, 2:3, 1:2],
    )


def snapshot_of(running: int) -> Snapshot:
    """So many single-GPU jobs run with their proportional shares; of the others one in five waits
    for more than one GPU."""
    rng = np.random.default_rng(7)
    slots = rng.permutation(NODES * GPUS)[:running]
    used = np.bincount(slots // GPUS, minlength=NODES)
    free = np.full(NODES, (1 << GPUS) - 1, np.uint64)
    np.bitwise_and.at(free, slots // GPUS, ~(np.uint64(1) << (slots % GPUS).astype(np.uint64)))
    gpus = np.ones(JOBS, np.int32)
    gpus[running:] = rng.choice([1, 2, 4, 8, 16], JOBS - running, p=[0.8, 0.08, 0.06, 0.05, 0.01])
    est_total_s = np.exp(rng.normal(8.5, 1.2, JOBS))
    started_s = np.where(np.arange(JOBS) < running, NOW_S - rng.uniform(600, 7200, JOBS), np.nan)
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(JOBS) + 1,
            tenant=np.zeros(JOBS),
            profile=rng.integers(0, KINDS, JOBS),
            state=np.repeat([JobState.RUNNING, JobState.QUEUED], [running, JOBS - running]),
            submitted_s=NOW_S - rng.uniform(0, 7 * 86400, JOBS),
            min_gpus=gpus,
            max_gpus=gpus,
            gpu_types=np.ones(JOBS, np.uint64),
            attained_gpu_s=rng.exponential(20_000, JOBS),
            est_total_s=est_total_s,
            est_run_s=est_total_s * rng.uniform(0.1, 1, JOBS),
            started_s=started_s,
        ),
        placements=Placements.of(
            offset=np.minimum(np.arange(JOBS + 1), running),
            node=slots // GPUS,
            gpus=np.uint64(1) << (slots % GPUS).astype(np.uint64),
            cpus=np.full(running, CPUS // GPUS),
            mem_mib=np.full(running, MEM_MIB // GPUS),
        ),
        nodes=NodeTable.of(
            id=np.arange(NODES) + 1,
            gpu_type=np.zeros(NODES),
            gpus=np.full(NODES, GPUS),
            free_gpus=free,
            cpus=np.full(NODES, CPUS),
            free_cpus=CPUS - CPUS // GPUS * used,
            mem_mib=np.full(NODES, MEM_MIB),
            free_mem_mib=MEM_MIB - MEM_MIB // GPUS * used,
        ),
        gpu_types=GpuTypeTable.of(name=("V100",)),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=TenantTable.of(
            id=[1], used_gpus=[running], quota_by_type=[[-1]], used_by_type=[[running]]
        ),
        profiles=profiles(rng),
        prices=PriceTable.unknown(),
    )


def measure(case: str, snapshot: Snapshot, parameters: dict[str, Any], *, barred: bool) -> None:
    plan = build("synergy", parameters).plan(snapshot)
    if violations := check_plan(snapshot, plan):
        raise SystemExit(f"{case}: {violations[:3]}")

    def fresh() -> None:
        """Nothing is kept from an earlier round, and the waits are explained: as a live round."""
        build("synergy", parameters).plan(replace(snapshot)).settled()

    taken = best(partial(fresh))
    at_most = PLAN_BAR_MS if barred else None
    figure("synergy", case, "plan_ms", taken.wall_ms, "ms", at_most=at_most)
    figure("synergy", case, "plan_cpu_ms", taken.cpu_ms, "ms")


def main() -> None:
    for running, label in ((NODES * GPUS, "full"), (NODES * GPUS // 2, "half empty"), (0, "empty")):
        snapshot = snapshot_of(running)
        for ordering, packing in (
            ("fifo", "proportional"),
            ("fifo", "greedy"),
            ("fifo", "tune"),
            ("srtf", "tune"),
            ("las", "tune"),
            ("ftf", "tune"),
            ("fifo", "opt"),
        ):
            parameters = {"ordering": ordering, "packing": packing}
            case = f"{NODES}x{GPUS}/{JOBS} {label} {ordering} {packing}"
            measure(case, snapshot, parameters, barred=packing != "opt")


if __name__ == "__main__":
    main()
