"""Small generated worlds, every one of another kind."""

from decimal import Decimal
from typing import Any

import numpy as np

from policies.contract.columns import I64
from policies.contract.policy import Policy
from policies.contract.snapshot import ProfileTable, Span
from policies.pricing.tariff import hourly_curve
from policies.registry import build, parameter_schema, policy_names
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.machines import GpuKind, Machines, NodeKind, with_partitions
from simulator.machines import build as build_machines
from simulator.setting import Setting, unlimited_tenants
from simulator.workload import Workload

# The slow world knows starts, preemptions and moves only.
RIGID = tuple(name for name in policy_names() if not build(name, {}).minds_running)
ORIGIN_S = 1_600_000_000.0
HOUR_S = 3600


def small_world(seed: int) -> tuple[Setting, Policy, Pace]:
    """Every fourth is fragmented: small jobs on all nodes, and gangs that need a whole one."""
    random = np.random.default_rng([seed, 77])
    fragmented = seed % 4 == 0
    machines = build_machines([NodeKind(count=4, gpus=4)]) if fragmented else small_machines(random)
    jobs = small_jobs(random, machines)
    if fragmented:
        small = random.random(len(jobs)) < 0.8
        jobs = jobs.but(
            gpus=np.where(small, 1, 4), max_gpus=np.where(small, 1, 4), work=jobs.work * 2
        )
        jobs = jobs.but(span=np.full(len(jobs), Span.NODE), cpus_per_gpu=np.zeros(len(jobs)))
        jobs = jobs.but(mem_mib_per_gpu=np.zeros(len(jobs)))
    kinds = len(machines.gpu_types)
    hours = int(ORIGIN_S) // HOUR_S * HOUR_S + np.arange(24 * 60) * HOUR_S
    priced = bool(random.integers(2))
    curve = hourly_curve(hours, _decimals(random, len(hours)), int(hours[0]), int(hours[-1]))
    carbon = hourly_curve(hours, _decimals(random, len(hours)), int(hours[0]), int(hours[-1]))
    setting = Setting(
        jobs=jobs,
        tenants=unlimited_tenants(3, kinds),
        tenant_names=("a", "b", "c"),
        machines=machines,
        believed_work=jobs.work * np.exp(random.normal(0, 0.5 * random.integers(2), len(jobs))),
        profiles=ProfileTable.none(kinds),
        believed_profiles=ProfileTable.none(kinds),
        costs=small_costs(random),
        outages=small_outages(random, machines),
        origin_s=float(jobs.submitted_s[0]),
        seed=seed,
        pue=1.0 + 0.25 * float(random.integers(3)),
        price=curve if priced else None,
        carbon=carbon if priced else None,
    )
    name = RIGID[seed % len(RIGID)]
    parameters = small_parameters(name, random)
    if fragmented and "migration" in parameters:
        moving = {"migration": True, "placement": "spread", "preempt": False}
        parameters |= {key: value for key, value in moving.items() if key in parameters}
    return setting, build(name, parameters), small_pace(random)


def small_machines(random: np.random.Generator) -> Machines:
    kinds = [
        NodeKind(
            count=int(random.integers(1, 4)),
            gpus=int(random.choice([1, 2, 4, 4, 8, 8])),
            gpu_type=name,
            cpus=32,
            mem_mib=1000,
            per_rack=2,
            per_switch=4,
            host_idle_w=float(random.integers(100)),
            host_peak_w=100.0 + float(random.integers(300)),
        )
        for name in ("A", "B")[: int(random.integers(1, 3))]
    ]
    gpus = [GpuKind(name="A", idle_w=30, max_w=250), GpuKind(name="B", idle_w=17.5, max_w=333.3)]
    machines = build_machines(kinds, gpus[: len(kinds)])
    if random.integers(2) or len(machines.nodes) < 2:
        return machines
    where: I64 = np.arange(len(machines.nodes)) % 2
    lends = bool(random.integers(2))
    return with_partitions(machines, ("p", "q"), where.astype(np.int32), lends=lends)


def small_jobs(random: np.random.Generator, machines: Machines) -> Workload:
    count = int(random.integers(6, 20))
    largest = int(machines.nodes.gpus.max())
    return Workload.sorted(
        submitted_s=ORIGIN_S + random.integers(0, HOUR_S, count),
        work=random.integers(30, HOUR_S, count),
        gpus=np.minimum(random.choice([1, 1, 1, 2, 3, 4, 8], count), largest),
        tenant=random.integers(3, size=count),
        partition=random.integers(2, size=count)
        if len(machines.partitions)
        else np.full(count, -1),
        priority=random.integers(3, size=count),
        deadline_s=ORIGIN_S + random.integers(0, 3 * HOUR_S, count),
        tardiness_weight=random.random(count),
        cpus_per_gpu=random.integers(4, size=count),
        mem_mib_per_gpu=random.integers(100, size=count),
        span=random.choice([Span.NODE, Span.ANY], count),
        preemptible=random.random(count) < 0.8,
    )


def small_costs(random: np.random.Generator) -> Costs:
    return Costs(
        start_s=float(random.integers(2)) * 5,
        end_s=float(random.integers(2)) * 3,
        restart_s=float(random.integers(3)) * 20,
        checkpoint_s=float(random.integers(3)) * 10,
        saves_on_stop=bool(random.integers(2)),
        checkpoint_every_s=float(random.choice([600.0, np.inf])),
        slowdown_in_rack=0.125,
        slowdown_in_switch=0.25,
        slowdown_across=0.5,
    )


def small_outages(
    random: np.random.Generator, machines: Machines
) -> list[tuple[float, int, float]]:
    outages = []
    for node in range(len(machines.nodes)):
        if random.random() < 0.3:
            at_s = ORIGIN_S + float(random.integers(2 * HOUR_S))
            outages.append((at_s, node, at_s + 60.0 + float(random.integers(HOUR_S))))
    return outages


def small_parameters(name: str, random: np.random.Generator) -> dict[str, Any]:
    placement = str(random.choice(["pack", "spread", "consolidate", "buddy", "random"]))
    drawn: dict[str, Any] = {
        "placement": placement,
        "min_run_s": float(random.integers(300)),
        **{switch: bool(random.integers(2)) for switch in ("preempt", "strict", "migration")},
        "queue_gpu_s": [600.0, 3000.0],
    }
    known = parameter_schema(name)["properties"]
    return {parameter: value for parameter, value in drawn.items() if parameter in known}


def small_pace(random: np.random.Generator) -> Pace:
    kind = int(random.integers(3))
    interval_s = float(random.choice([240.0, 600.0]))
    return Pace(
        interval_s=interval_s if kind else float("inf"),
        on_events=kind != 1,
        check_plans=bool(random.random() < 0.2),
        patience_s=2400.0,
        sample_s=60.0,
    )


def _decimals(random: np.random.Generator, count: int) -> list[Decimal]:
    return [Decimal(int(value)) / 1000 for value in random.integers(-20, 400, count)]
