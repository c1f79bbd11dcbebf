"""How long one fairwatt plan takes, and how far it may be from the cheapest: two GPU types, a day
of prices, elastic jobs with profiles, due dates and waiting prices.

Run with `python -m lab.benchmarks.fairwatt`; prints one JSON line per figure.
"""

import sys

import numpy as np

from lab.benchmarks.figures import figure
from lab.benchmarks.plan import best
from policies.contract.invariants import check_plan
from policies.contract.policy import gap
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
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.policy import Fairwatt
from policies.registry import build

NOW_S = 1_790_000_000.0
GPUS, TENANTS = 8, 4
COUNTS, CLOCKS_MHZ = (1, 2, 4, 8), (900, 1200, 1500)
# Nodes, queued, running, milliseconds allowed.
SIZES = [(128, 1_000, 500, 400.0), (1_250, 10_000, 2_500, 4_000.0)]
GAP_SIZE = (20, 100, 40)
GAP_BAR = 0.10


def profiles(rng: np.random.Generator) -> ProfileTable:
    """Eight kinds of job: speed grows with GPUs and clock, less than in proportion."""
    kinds, count = 8, np.array(COUNTS, np.float64)[None, None, :, None]
    clock = np.array(CLOCKS_MHZ)[None, None, None, :] / CLOCKS_MHZ[-1]
    scaling = rng.uniform(0.6, 0.95, kinds)[:, None, None, None]
    bound = rng.uniform(0.4, 1.0, kinds)[:, None, None, None]
    of_type = np.array([1.0, 2.2])[None, :, None, None]
    watts = np.array([250.0, 400.0])[None, :, None, None] * (0.35 + 0.65 * clock**2.5)
    shape = (kinds, 2, len(COUNTS), len(CLOCKS_MHZ))
    return ProfileTable.of(
        id=np.arange(kinds) + 1,
        gpu_counts=COUNTS,
        clocks_mhz=np.tile(CLOCKS_MHZ, (2, 1)),
        throughput=np.broadcast_to(of_type * count**scaling * clock**bound, shape),
        watts_per_gpu=np.broadcast_to(watts, shape),
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((kinds, 0, 0)),
    )


def prices(rng: np.random.Generator) -> PriceTable:
    """Two days by the hour: dear in the evening, cheap at night."""
    hour = np.arange(48)
    price = 0.18 + 0.08 * np.sin((hour - 13) / 24 * 2 * np.pi) + rng.normal(0, 0.01, 48)
    return PriceTable.of(from_s=NOW_S + 3600.0 * hour - 600.0, price_per_kwh=price)


def snapshot_of(nodes: int, queued: int, running: int, seed: int = 0) -> Snapshot:
    """Single-GPU jobs run, spread over the nodes; elastic ones of up to 8 GPUs wait."""
    rng = np.random.default_rng([10, seed])
    count = queued + running
    slots = rng.permutation(nodes * GPUS)[:running]
    free = np.full(nodes, (1 << GPUS) - 1, np.uint64)
    np.bitwise_and.at(free, slots // GPUS, ~(np.uint64(1) << (slots % GPUS).astype(np.uint64)))
    kind = np.arange(nodes) % 2
    tenant = rng.integers(0, TENANTS, count)
    used = np.zeros((TENANTS, 2), np.int64)
    np.add.at(used, (tenant[:running], kind[slots // GPUS]), 1)
    work = np.exp(rng.normal(9.0, 1.2, count))
    runs = np.arange(count) < running
    due_s = NOW_S + work * rng.uniform(1.0, 6.0, count)
    narrow = rng.choice([1, 2, 4], count, p=[0.7, 0.2, 0.1])
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(count) + 1,
            tenant=tenant,
            profile=rng.integers(0, 8, count),
            state=np.where(runs, JobState.RUNNING, JobState.QUEUED),
            submitted_s=NOW_S - rng.uniform(0, 14_400, count),
            deadline_s=np.where(rng.random(count) < 0.5, due_s, np.inf),
            tardiness_weight=rng.uniform(0, 0.001, count),
            min_gpus=np.where(runs, 1, narrow),
            max_gpus=np.full(count, 8),
            gpu_types=np.full(count, 3, np.uint64),
            work_total=work,
            work_left=work,
            started_s=np.where(runs, NOW_S - 7200.0, np.nan),
            checkpoint_s=np.where(runs, NOW_S - 300.0, np.nan),
            restart_cost_s=np.full(count, 60.0),
        ),
        placements=Placements.of(
            offset=np.minimum(np.arange(count + 1), running),
            node=slots // GPUS,
            gpus=np.uint64(1) << (slots % GPUS).astype(np.uint64),
            cpus=np.zeros(running),
            mem_mib=np.zeros(running),
        ),
        nodes=NodeTable.of(
            id=np.arange(nodes) + 1,
            gpu_type=kind,
            gpus=np.full(nodes, GPUS),
            free_gpus=free,
            cpus=np.full(nodes, 64),
            free_cpus=np.full(nodes, 64),
            mem_mib=np.full(nodes, 512_000),
            free_mem_mib=np.full(nodes, 512_000),
            host_idle_w=np.full(nodes, 300.0),
            host_peak_w=np.full(nodes, 900.0),
        ),
        gpu_types=GpuTypeTable.of(name=("V100", "A100"), idle_w=[30.0, 50.0], max_w=[250.0, 400.0]),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=TenantTable.of(
            id=np.arange(TENANTS) + 1,
            used_gpus=used.sum(axis=1),
            quota_by_type=np.full((TENANTS, 2), -1),
            used_by_type=used,
        ),
        profiles=profiles(rng),
        prices=prices(rng),
    )


def speed(nodes: int, queued: int, running: int, bar_ms: float) -> None:
    snapshot = snapshot_of(nodes, queued, running)
    plan = build("fairwatt", {}).plan(snapshot)
    if broken := check_plan(snapshot, plan):
        sys.exit(f"a plan that must not be: {broken[0].message}")

    def fresh() -> object:
        """A policy that has seen nothing before, and a plan with all its reasons."""
        return build("fairwatt", {}).plan(snapshot).settled()

    taken = best(fresh)
    case = f"{nodes}x{GPUS}/{queued} queued/{running} running"
    figure("fairwatt", case, "plan_ms", taken.wall_ms, "ms", at_most=bar_ms)
    figure("fairwatt", case, "plan_cpu_ms", taken.cpu_ms, "ms", at_most=bar_ms)
    taken = best(lambda: Fairwatt(FairwattParameters()).bound(snapshot, plan.objective))
    figure("fairwatt", case, "bound_cpu_ms", taken.cpu_ms, "ms")


def mean_gap(nodes: int, queued: int, running: int, rounds: int = 5) -> None:
    """The mean over a few snapshots of what the plan may cost too much, of its objective."""
    policy, gaps = Fairwatt(FairwattParameters()), []
    for seed in range(rounds):
        snapshot = snapshot_of(nodes, queued, running, seed)
        objective = policy.plan(snapshot).objective
        gaps.append(gap(objective, policy.bound(snapshot, objective)))
    case = f"{nodes}x{GPUS}/{queued} queued/{running} running"
    figure("fairwatt", case, "mean_gap", float(np.mean(gaps)), "of the objective", at_most=GAP_BAR)


def main() -> None:
    for size in SIZES:
        speed(*size)
    mean_gap(*GAP_SIZE)


if __name__ == "__main__":
    main()
