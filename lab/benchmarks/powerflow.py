"""How long one PowerFlow-style plan takes: 128 nodes of 8 GPUs, 1,000 elastic jobs, 8 clocks.

Run with `python -m lab.benchmarks.powerflow`; prints one JSON line per figure.
"""

from dataclasses import replace

import numpy as np

from lab.benchmarks.figures import figure
from lab.benchmarks.plan import best
from lab.calibration.load import clock_steps, example_table
from policies.bench.power import idle_draw_w
from policies.contract.invariants import check_plan
from policies.contract.snapshot import (
    GpuTypeTable,
    JobState,
    JobTable,
    NodeTable,
    PartitionTable,
    Placements,
    PriceTable,
    Snapshot,
    TenantTable,
)
from policies.registry import build

NOW_S = 1_790_000_000.0
NODES, GPUS, JOBS, CLOCKS = 128, 8, 1_000, 8
MOST_W = NODES * (1000.0 + GPUS * 400.0)
PLAN_BAR_MS = 200.0


def snapshot_of(running: int, budget_share: float) -> Snapshot:
    """The first `running` jobs hold one GPU each, spread over the nodes; the others wait."""
    rng = np.random.default_rng(8)
    _, profiles = example_table(clocks_mhz=clock_steps("A100", CLOCKS))
    node = np.arange(NODES)
    slots = rng.permutation(NODES * GPUS)[:running]
    free = np.full(NODES, (1 << GPUS) - 1, np.uint64)
    np.bitwise_and.at(free, slots // GPUS, ~(np.uint64(1) << (slots % GPUS).astype(np.uint64)))
    profile = rng.integers(0, len(profiles), JOBS)
    work = np.exp(rng.normal(10.0, 1.5, JOBS)) * profiles.throughput[profile, 0, 0, -1]
    snapshot = Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(JOBS) + 1,
            tenant=np.zeros(JOBS),
            profile=profile,
            state=np.repeat([JobState.RUNNING, JobState.QUEUED], [running, JOBS - running]),
            submitted_s=NOW_S - rng.uniform(0, 86_400, JOBS),
            min_gpus=np.ones(JOBS),
            max_gpus=np.full(JOBS, 64),
            gpu_types=np.ones(JOBS, np.uint64),
            work_total=work,
            work_left=work,
            started_s=np.where(np.arange(JOBS) < running, NOW_S - 7200.0, np.nan),
            checkpoint_s=np.where(np.arange(JOBS) < running, NOW_S, np.nan),
            restart_cost_s=np.full(JOBS, 60.0),
        ),
        placements=Placements.of(
            offset=np.minimum(np.arange(JOBS + 1), running),
            node=slots // GPUS,
            gpus=np.uint64(1) << (slots % GPUS).astype(np.uint64),
            cpus=np.zeros(running),
            mem_mib=np.zeros(running),
        ),
        nodes=NodeTable.of(
            id=node + 1,
            gpu_type=np.zeros(NODES),
            gpus=np.full(NODES, GPUS),
            free_gpus=free,
            cpus=np.full(NODES, 64),
            free_cpus=np.full(NODES, 64),
            mem_mib=np.full(NODES, 512_000),
            free_mem_mib=np.full(NODES, 512_000),
            rack=node // 8,
            switch=node // 32,
            host_idle_w=np.full(NODES, 400.0),
            host_peak_w=np.full(NODES, 1000.0),
        ),
        gpu_types=GpuTypeTable.of(name=("A100",), idle_w=[50.0], max_w=[400.0]),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=TenantTable.of(
            id=[1], used_gpus=[running], quota_by_type=[[-1]], used_by_type=[[running]]
        ),
        profiles=profiles,
        prices=PriceTable.unknown(),
    )
    return replace(snapshot, power_budget_w=max(budget_share * MOST_W, idle_draw_w(snapshot)))


def main() -> None:
    cases = [(0, 0.5), (0, 1.0), (500, 0.7), (1_000, 0.5), (1_000, 1.0)]
    for running, share in cases:
        snapshot = snapshot_of(running, share)
        plan = build("powerflow", {}).plan(snapshot)
        if broken := check_plan(snapshot, plan):
            raise SystemExit(f"a plan that must not be: {broken[0].message}")

        def fresh(snapshot: Snapshot = snapshot) -> object:
            """A policy that has seen nothing before, and a plan with all its reasons."""
            return build("powerflow", {}).plan(snapshot).settled()

        taken = best(fresh)
        case = f"{NODES}x{GPUS}/{JOBS} jobs, {running} running, eta {share:g}"
        figure("powerflow", case, "plan_ms", taken.wall_ms, "ms", at_most=PLAN_BAR_MS)
        figure("powerflow", case, "plan_cpu_ms", taken.cpu_ms, "ms")


if __name__ == "__main__":
    main()
