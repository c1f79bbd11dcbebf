"""The same jobs as they ran, and as each policy would have run them; what both cost."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.policy import Policy
from policies.pricing.cost import marginal_w, per_gpu_w
from policies.pricing.tariff import Tariff
from simulator.energy import demand_cost, draw, energy
from simulator.engine import Engine, Outcome, Pace, Progress
from simulator.log import RunLog, StretchEnd, Stretches
from simulator.measure import measure
from simulator.metrics.jobs import JobResults
from simulator.report.series import PlotSeries, series_of
from simulator.setting import Setting


class Bounds(NamedTuple):
    """As expected, and with the watts of GPUs in jobs as low and as high as they may be."""

    expected: float
    low: float
    high: float

    def less(self, other: "Bounds") -> "Bounds":
        """The watts are the same ones on both sides, whatever they are."""
        return Bounds(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def ends(self) -> tuple[float, float]:
        return min(self), max(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Question:
    """`kind` is the GPU type row of every job; watts of type t may be off by the share `error[t]`.

    The machines' idle draw counts from the setting's origin until `until_s`, whoever plans.
    """

    setting: Setting
    started_s: F64
    kind: I64
    error: F64
    tariff: Tariff
    until_s: float
    pace: Pace


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bill:
    """`cost` is all of it; of `energy_kwh` and `cost` the idle draw of the machines is part."""

    label: str
    cost: Bounds
    energy_kwh: Bounds
    idle_cost: float
    demand_cost: float
    wait_h: float
    unfinished: int
    jobs: JobResults
    series: PlotSeries


def as_it_ran(asked: Question) -> Outcome:
    """The recorded starts, as if a policy had decided them; nobody knows on which GPUs."""
    jobs = asked.setting.jobs
    finished_s = asked.started_s + jobs.work
    each_w = _watts_per_gpu(asked.setting)[asked.kind]
    log = RunLog()
    columns = (asked.started_s, finished_s, jobs.gpus, jobs.gpus * each_w)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (from_s, to_s, gpus, watts) in enumerate(rows):
        stretch = (row, from_s, to_s, gpus, watts, 1.0, 0.0, 0.0, int(StretchEnd.FINISHED))
        log.add(stretch, ())
    return Outcome(
        setting=asked.setting,
        first_start_s=asked.started_s,
        finished_s=finished_s,
        ended_s=asked.until_s,
        rounds=0,
        log=log,
    )


def _watts_per_gpu(setting: Setting) -> F64:
    """What a job adds on a GPU of each type, with the share of the host that is usual there."""
    nodes, types = setting.machines.nodes, setting.machines.gpu_types
    span_w = per_gpu_w(nodes, nodes.host_peak_w - nodes.host_idle_w)
    gpus = np.bincount(nodes.gpu_type, nodes.gpus, minlength=len(types))
    host_w = np.bincount(nodes.gpu_type, nodes.gpus * span_w, minlength=len(types))
    return marginal_w(types.max_w, types.idle_w, host_w / np.maximum(gpus, 1))


def replayed(asked: Question, policy: Policy, on_progress: Progress | None = None) -> Outcome:
    return Engine(asked.setting, policy, asked.pace).run(on_progress)


def bill(asked: Question, label: str, outcome: Outcome) -> Bill:
    outcome = replace(outcome, ended_s=asked.until_s)
    measured = measure(outcome, asked.tariff)
    spent = [_spent(asked, outcome, measured.stretches, sign) for sign in (0, -1, 1)]
    return Bill(
        label=label,
        cost=Bounds(*(cost for cost, _ in spent)),
        energy_kwh=Bounds(*(kwh for _, kwh in spent)),
        idle_cost=measured.summary["energy_cost"] - float(measured.jobs.energy_cost.sum()),
        demand_cost=measured.summary["demand_cost"],
        wait_h=float(np.nansum(measured.jobs.wait_s)) / 3600,
        unfinished=int(np.isnan(measured.jobs.finished_s).sum()),
        jobs=measured.jobs,
        series=series_of(outcome, measured),
    )


def _spent(
    asked: Question, outcome: Outcome, stretches: Stretches, sign: int
) -> tuple[float, float]:
    """Money and kWh with all watts of GPUs in jobs off to one side."""
    kind = asked.kind[stretches.job]
    off_w = asked.setting.machines.gpu_types.max_w[kind] * asked.error[kind] * stretches.gpus
    other = replace(stretches, watts=np.maximum(stretches.watts + sign * off_w, 0.0))
    found = energy(outcome, other)
    demand = float(demand_cost(draw(outcome, other), asked.tariff))
    cost = float(found.stretch_cost.sum()) + found.idle_cost + demand
    return cost, (float(found.stretch_j.sum()) + found.idle_j) / 3.6e6
