"""The snapshots that policies are timed on: one table, by benchmark and case.

Draws follow one another in an order that must stay: a snapshot of today is to be that of old
figures.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from lab.benchmarks.plans import profiles
from lab.benchmarks.plans.machines import GPUS, OccupiedNodes
from lab.calibration.load import clock_steps, example_table
from lab.experiments.andreas.settings import ANDREAS, AndreasCase, setting_of
from policies.bench.power import idle_draw_w
from policies.contract.columns import I64
from policies.contract.snapshot import (
    GpuTypeTable,
    JobState,
    JobTable,
    PartitionTable,
    PriceTable,
    ProfileTable,
    Snapshot,
    TenantTable,
)
from policies.registry import build
from simulator.prices import PriceView
from simulator.world import World

NOW_S = 1_790_000_000.0
GANGS, GANG_SHARES = [1, 2, 4, 8, 16], [0.8, 0.08, 0.06, 0.05, 0.01]


def rigid(nodes: int, queued: int, running: int, *, gangs: bool) -> Snapshot:
    """Single-GPU jobs run; single-GPU jobs wait, or with `gangs` one in five asks for more."""
    rng = np.random.default_rng(7)
    there = OccupiedNodes.drawn(rng, nodes, running, job_cpus=4, job_mem_mib=32_000)
    jobs, node = running + queued, np.arange(nodes)
    gpus = np.ones(jobs, np.int32)
    if gangs:
        gpus[running:] = rng.choice(GANGS, queued, p=GANG_SHARES)
    tenant = rng.integers(0, 20, jobs)
    est_total_s = np.exp(rng.normal(8.5, 1.2, jobs))
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(jobs) + 1,
            tenant=tenant,
            state=_states(running, queued),
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
        placements=there.placements(jobs),
        nodes=there.table(rack=node // 8, switch=node // 32),
        gpu_types=GpuTypeTable.of(name=("A100",)),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=_tenants(np.bincount(tenant[:running], minlength=20)[:, None]),
        profiles=ProfileTable.none(1),
        prices=PriceTable.unknown(),
    )


def all_queued(nodes: int, width: int) -> Snapshot:
    """As many one-GPU jobs as there are GPUs, all of them queued, on empty nodes: all fit."""
    rng, jobs = np.random.default_rng(7), nodes * width
    there = OccupiedNodes(
        nodes, np.empty(0, np.int64), cpus=width, mem_mib=4_000 * width, gpus=width
    )
    est_total_s = np.exp(rng.normal(8.5, 1.2, jobs))
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(jobs) + 1,
            tenant=rng.integers(0, 20, jobs),
            state=_states(0, jobs),
            submitted_s=NOW_S - rng.uniform(0, 7 * 86400, jobs),
            min_gpus=np.ones(jobs),
            max_gpus=np.ones(jobs),
            gpu_types=np.ones(jobs, np.uint64),
            cpus_per_gpu=np.ones(jobs),
            mem_mib_per_gpu=np.full(jobs, 4_000),
            est_total_s=est_total_s,
            est_run_s=est_total_s,
        ),
        placements=there.placements(jobs),
        nodes=there.table(),
        gpu_types=GpuTypeTable.of(name=("A100",)),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=_tenants(np.zeros((20, 1), np.int64)),
        profiles=ProfileTable.none(1),
        prices=PriceTable.unknown(),
    )


def priced(nodes: int, queued: int, running: int, seed: int = 0) -> Snapshot:
    """Two GPU types and a day of prices; single-GPU jobs run, elastic ones of up to 8 wait."""
    rng, tenants = np.random.default_rng([10, seed]), 4
    count = queued + running
    there, kind = OccupiedNodes.drawn(rng, nodes, running), np.arange(nodes) % 2
    tenant = rng.integers(0, tenants, count)
    used = np.zeros((tenants, 2), np.int64)
    np.add.at(used, (tenant[:running], kind[there.node]), 1)
    work = np.exp(rng.normal(9.0, 1.2, count))
    runs = np.arange(count) < running
    due_s = NOW_S + work * rng.uniform(1.0, 6.0, count)
    narrow = rng.choice([1, 2, 4], count, p=[0.7, 0.2, 0.1])
    return Snapshot(
        now_s=NOW_S,
        power_off=True,
        min_idle_s=0.0,
        jobs=JobTable.of(
            id=np.arange(count) + 1,
            tenant=tenant,
            profile=rng.integers(0, profiles.SCALING_KINDS, count),
            state=_states(running, queued),
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
        placements=there.placements(count),
        nodes=there.table(
            gpu_type=kind, host_idle_w=np.full(nodes, 300.0), host_peak_w=np.full(nodes, 900.0)
        ),
        gpu_types=GpuTypeTable.of(name=("V100", "A100"), idle_w=[30.0, 50.0], max_w=[250.0, 400.0]),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=_tenants(used),
        profiles=profiles.scaling(rng),
        prices=profiles.daily_prices(rng, NOW_S),
    )


def budgeted(nodes: int, jobs: int, running: int, budget_share: float) -> Snapshot:
    """Elastic jobs with eight clocks under a share of the most watts; the first hold a GPU each."""
    rng = np.random.default_rng(8)
    _, known = example_table(clocks_mhz=clock_steps("A100", 8))
    there, node = OccupiedNodes.drawn(rng, nodes, running), np.arange(nodes)
    profile = rng.integers(0, len(known), jobs)
    work = np.exp(rng.normal(10.0, 1.5, jobs)) * known.throughput[profile, 0, 0, -1]
    runs = np.arange(jobs) < running
    snapshot = Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(jobs) + 1,
            tenant=np.zeros(jobs),
            profile=profile,
            state=_states(running, jobs - running),
            submitted_s=NOW_S - rng.uniform(0, 86_400, jobs),
            min_gpus=np.ones(jobs),
            max_gpus=np.full(jobs, 64),
            gpu_types=np.ones(jobs, np.uint64),
            work_total=work,
            work_left=work,
            started_s=np.where(runs, NOW_S - 7200.0, np.nan),
            checkpoint_s=np.where(runs, NOW_S, np.nan),
            restart_cost_s=np.full(jobs, 60.0),
        ),
        placements=there.placements(jobs),
        nodes=there.table(
            rack=node // 8,
            switch=node // 32,
            host_idle_w=np.full(nodes, 400.0),
            host_peak_w=np.full(nodes, 1000.0),
        ),
        gpu_types=GpuTypeTable.of(name=("A100",), idle_w=[50.0], max_w=[400.0]),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=_tenants(np.array([[running]])),
        profiles=known,
        prices=PriceTable.unknown(),
    )
    most_w = nodes * (1000.0 + GPUS * 400.0)
    return replace(snapshot, power_budget_w=max(budget_share * most_w, idle_draw_w(snapshot)))


def sensitive(nodes: int, jobs: int, running: int) -> Snapshot:
    """So many single-GPU jobs run with their proportional shares; of the others one in five waits
    for more than one GPU."""
    rng = np.random.default_rng(7)
    cpus, mem_mib = 24, 512_000
    there = OccupiedNodes.drawn(
        rng, nodes, running, cpus=cpus, job_cpus=cpus // GPUS, job_mem_mib=mem_mib // GPUS
    )
    gpus = np.ones(jobs, np.int32)
    gpus[running:] = rng.choice(GANGS, jobs - running, p=GANG_SHARES)
    est_total_s = np.exp(rng.normal(8.5, 1.2, jobs))
    started_s = np.where(np.arange(jobs) < running, NOW_S - rng.uniform(600, 7200, jobs), np.nan)
    return Snapshot(
        now_s=NOW_S,
        jobs=JobTable.of(
            id=np.arange(jobs) + 1,
            tenant=np.zeros(jobs),
            profile=rng.integers(0, profiles.SENSITIVE_KINDS, jobs),
            state=_states(running, jobs - running),
            submitted_s=NOW_S - rng.uniform(0, 7 * 86400, jobs),
            min_gpus=gpus,
            max_gpus=gpus,
            gpu_types=np.ones(jobs, np.uint64),
            attained_gpu_s=rng.exponential(20_000, jobs),
            est_total_s=est_total_s,
            est_run_s=est_total_s * rng.uniform(0.1, 1, jobs),
            started_s=started_s,
        ),
        placements=there.placements(jobs),
        nodes=there.table(),
        gpu_types=GpuTypeTable.of(name=("V100",)),
        partitions=PartitionTable.of(id=[], name=()),
        tenants=_tenants(np.array([[running]])),
        profiles=profiles.sensitive(rng),
        prices=PriceTable.unknown(),
    )


def crowded(nodes: int, count: int) -> Snapshot:
    """ANDREAS' world with jobs enough that some wait, a minute after the first schedule."""
    setting = setting_of(AndreasCase(nodes, 0, "andreas"))
    jobs = setting.jobs.rows(np.arange(count)).but(submitted_s=np.zeros(count))
    setting = replace(setting, jobs=jobs, believed_work=jobs.work)
    world, prices = World(setting), PriceView(setting)
    world.advance(0.0)
    policy = build("andreas", ANDREAS)
    world.apply(policy.plan(world.snapshot(prices.at(0.0), setting.believed_profiles)))
    world.now_s = 60.0
    return world.snapshot(prices.at(60.0), setting.believed_profiles)


def _states(running: int, queued: int) -> I64:
    return np.repeat([int(JobState.RUNNING), int(JobState.QUEUED)], [running, queued])


def _tenants(used_by_type: I64) -> TenantTable:
    """Without quotas."""
    return TenantTable.of(
        id=np.arange(len(used_by_type)) + 1,
        used_gpus=used_by_type.sum(axis=1),
        quota_by_type=np.full(used_by_type.shape, -1),
        used_by_type=used_by_type,
    )


SNAPSHOTS: dict[str, dict[str, Callable[[], Snapshot]]] = {
    "plan": {
        "16x8/100/100": partial(rigid, 16, 100, 100, gangs=False),
        "128x8/1000/1000": partial(rigid, 128, 1_000, 1_000, gangs=False),
        "1250x8/10000/10000": partial(rigid, 1_250, 10_000, 10_000, gangs=False),
        "1250x8/10000/5000": partial(rigid, 1_250, 10_000, 5_000, gangs=False),
        "1250x8/10000/5000/gangs": partial(rigid, 1_250, 10_000, 5_000, gangs=True),
        "1250x8/10000/10000/gangs": partial(rigid, 1_250, 10_000, 10_000, gangs=True),
    },
    # Slots are GPUs here: the published case is of schedulers of CPU batches.
    "all-queued": {"1000x32/32000/0": partial(all_queued, 1_000, 32)},
    "fairwatt": {
        "128x8/1000 queued/500 running": partial(priced, 128, 1_000, 500),
        "1250x8/10000 queued/2500 running": partial(priced, 1_250, 10_000, 2_500),
    },
    "powerflow": {
        f"128x8/1000 jobs, {running} running, eta {eta:g}": partial(
            budgeted, 128, 1_000, running, eta
        )
        for running, eta in ((0, 0.5), (0, 1.0), (500, 0.7), (1_000, 0.5), (1_000, 1.0))
    },
    "synergy": {
        "64x8/2000 full": partial(sensitive, 64, 2_000, 512),
        "64x8/2000 half empty": partial(sensitive, 64, 2_000, 256),
        "64x8/2000 empty": partial(sensitive, 64, 2_000, 0),
    },
    "andreas": {"100 nodes/450 jobs": partial(crowded, 100, 450)},
}
