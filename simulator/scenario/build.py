"""From a scenario and a seed to the setting of a run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64, U64
from policies.contract.snapshot import ANY_GPU_TYPE, ProfileTable
from policies.pricing.tariff import Tariff
from simulator import machines as making
from simulator.budgets import Allowance
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.generate import scale
from simulator.generate.draw import draw_trace
from simulator.generate.model import load_model
from simulator.machines import GpuKind, Machines, NodeKind
from simulator.scenario.files import data_path
from simulator.scenario.prices import curves, market_timezone, tariff_of
from simulator.scenario.schema import (
    ClusterSection,
    CostsSection,
    EnergySection,
    Failures,
    Scenario,
)
from simulator.setting import Outage, Setting, unlimited_tenants
from simulator.traces.alibaba import openb_nodes
from simulator.traces.collect import Report
from simulator.traces.formats import READERS
from simulator.workload import Trace

DAY_S = 86_400.0


class Built(NamedTuple):
    setting: Setting
    pace: Pace
    tariff: Tariff | None
    reports: list[Report]


def build(scenario: Scenario, seed: int, beside: Path, machines: Machines | None = None) -> Built:
    """`beside` is the directory of the scenario file; `machines` replace those it describes."""
    machines = machines or _machines(scenario.cluster, beside)
    trace, reports = _trace(scenario, machines, seed, beside)
    machines = _partitioned(scenario.cluster, machines, trace)
    jobs = trace.jobs.but(gpu_types=_type_masks(trace, machines))
    if scenario.cluster.partitions == "none":
        jobs = jobs.but(partition=np.full(len(jobs), -1))
    origin_s = float(jobs.submitted_s[0])
    tariff = tariff_of(scenario.energy, beside)
    price, carbon = curves(scenario.energy, tariff, origin_s, float(jobs.submitted_s[-1]), beside)
    kinds = len(machines.gpu_types)
    profiles = ProfileTable.none(kinds)
    setting = Setting(
        jobs=jobs,
        tenants=unlimited_tenants(len(trace.tenants), kinds),
        tenant_names=trace.tenants,
        machines=machines,
        believed_work=_believed(scenario, jobs.work, seed),
        profiles=profiles,
        believed_profiles=profiles,
        costs=_costs(scenario.costs),
        outages=_outages(scenario.failures, machines, origin_s, jobs.submitted_s[-1], seed),
        origin_s=origin_s,
        seed=seed,
        pue=scenario.energy.pue,
        power_budget_w=scenario.energy.power_budget_w,
        allowance=_allowance(scenario.energy),
        price=price,
        market_timezone=market_timezone(scenario.energy),
        carbon=carbon,
        tariff=tariff,
        power_off=scenario.cluster.power_off,
        min_idle_s=scenario.cluster.min_idle_s,
    )
    return Built(setting, _pace(scenario, origin_s), tariff, reports)


def _machines(cluster: ClusterSection, beside: Path) -> Machines:
    gpus = tuple(
        GpuKind(name=gpu.name, idle_w=gpu.idle_w, max_w=gpu.max_w, mem_mib=gpu.mem_mib)
        for gpu in cluster.gpus
    )
    if cluster.node_list:
        return openb_nodes(data_path(cluster.node_list, beside), gpus)
    kinds = [
        NodeKind(**{name: getattr(node, name) for name in node.__struct_fields__})
        for node in cluster.nodes
    ]
    return making.build(kinds, gpus)


def _trace(
    scenario: Scenario, machines: Machines, seed: int, beside: Path
) -> tuple[Trace, list[Report]]:
    section = scenario.trace
    if section.generate is not None:
        wanted = section.generate
        trace = draw_trace(
            load_model(wanted.model),
            jobs=wanted.jobs,
            gpus=machines.gpus,
            load=wanted.load,
            arrivals=wanted.arrivals,
            seed=seed,
            starts_s=section.starts_at.timestamp() if section.starts_at else 0.0,
            tenants=wanted.tenants,
        )
        return trace, []
    trace, report = READERS[section.format](data_path(section.path, beside))
    from_s = section.from_at.timestamp() if section.from_at else float(trace.jobs.submitted_s[0])
    to_s = from_s + section.days * DAY_S if section.days else np.inf
    trace = scale.window(trace, from_s, to_s)
    if section.busiest_partitions:
        trace = scale.busiest_partitions(trace, section.busiest_partitions)
    if section.load:
        span_s = min(to_s, float(trace.jobs.submitted_s[-1])) - from_s
        trace = scale.at_load(trace, machines.gpus, span_s, section.load, seed)
    if section.jobs:
        trace = replace(trace, jobs=trace.jobs.rows(np.arange(min(section.jobs, len(trace.jobs)))))
    if section.starts_at:
        shift_s = section.starts_at.timestamp() - trace.jobs.submitted_s[0]
        moved = trace.jobs.but(
            submitted_s=trace.jobs.submitted_s + shift_s,
            deadline_s=trace.jobs.deadline_s + shift_s,
        )
        trace = replace(trace, jobs=moved)
    return trace, [report]


def _partitioned(cluster: ClusterSection, machines: Machines, trace: Trace) -> Machines:
    if cluster.partitions == "none" or not trace.partitions:
        return machines
    jobs = trace.jobs
    inside = jobs.partition >= 0
    weights = np.bincount(
        jobs.partition[inside], (jobs.gpus * jobs.work)[inside], minlength=len(trace.partitions)
    )
    return making.in_partitions(
        machines, trace.partitions, weights.tolist(), lends=cluster.partitions == "lending"
    )


def _type_masks(trace: Trace, machines: Machines) -> U64:
    """The trace's GPU type names as rows of the machines' types; unknown names are nowhere."""
    masks = np.full(len(trace.jobs), ANY_GPU_TYPE, np.uint64)
    limited = np.flatnonzero(trace.jobs.gpu_types != ANY_GPU_TYPE)
    known = machines.gpu_types.name
    for row in limited.tolist():
        mask = int(trace.jobs.gpu_types[row])
        named = [name for bit, name in enumerate(trace.gpu_types) if mask >> bit & 1]
        masks[row] = sum(1 << known.index(name) for name in named if name in known)
    return masks


def _believed(scenario: Scenario, work: F64, seed: int) -> F64:
    estimates = scenario.estimates
    if estimates.kind == "none":
        return np.full(len(work), np.nan)
    if estimates.kind == "exact":
        return work
    random = np.random.default_rng([seed, 2])
    return np.asarray(work * np.exp(random.normal(0.0, estimates.sigma, len(work))))


def _allowance(section: EnergySection) -> Allowance | None:
    if not section.power_budget_by_hour_w and np.isinf(section.energy_budget_kwh):
        return None
    return Allowance(
        by_hour_w=section.power_budget_by_hour_w,
        period_j=section.energy_budget_kwh * 3.6e6,
        period_s=section.energy_budget_hours * 3600,
    )


def _costs(section: CostsSection) -> Costs:
    across = section.spread_slowdown
    in_switch = across if section.slowdown_in_switch is None else section.slowdown_in_switch
    in_rack = in_switch if section.slowdown_in_rack is None else section.slowdown_in_rack
    return Costs(
        start_s=section.start_s,
        end_s=section.end_s,
        restart_s=section.restart_s,
        checkpoint_s=section.checkpoint_s,
        saves_on_stop=section.saves_on_stop,
        checkpoint_every_s=section.checkpoint_every_s or float("inf"),
        boot_s=section.boot_s,
        slowdown_in_rack=in_rack,
        slowdown_in_switch=in_switch,
        slowdown_across=across,
    )


def _outages(
    failures: Failures | None, machines: Machines, from_s: float, to_s: float, seed: int
) -> Sequence[Outage]:
    """Drawn node by node while jobs arrive, so that a longer trace keeps the earlier ones."""
    outages: list[Outage] = []
    if failures is None:
        return outages
    for node in range(len(machines.nodes)):
        random = np.random.default_rng([seed, 3, node])
        at_s = from_s + random.exponential(failures.mtbf_hours * 3600)
        while at_s < to_s:
            up_s = at_s + random.exponential(failures.repair_hours * 3600)
            outages.append((at_s, node, up_s))
            at_s = up_s + random.exponential(failures.mtbf_hours * 3600)
    return outages


def _pace(scenario: Scenario, origin_s: float) -> Pace:
    rounds = scenario.rounds
    return Pace(
        interval_s=rounds.interval_s or float("inf"),
        on_events=rounds.on_events,
        until_s=origin_s + rounds.days * DAY_S if rounds.days else float("inf"),
        sample_s=rounds.sample_s,
        check_plans=rounds.check_plans,
    )
