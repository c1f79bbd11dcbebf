"""The worlds of the PowerFlow-style experiment: Philly jobs that behave like measured models."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import numpy as np

from lab.calibration.load import example_table, load_gpu_types
from policies.contract.columns import F64, I32, I64
from policies.contract.snapshot import ProfileTable
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.generate import scale
from simulator.machines import GpuKind, Machines, NodeKind, build
from simulator.scenario.files import data_directory
from simulator.setting import Setting, unlimited_tenants
from simulator.traces.clusters import philly
from simulator.workload import Trace, Workload

DAY_S = 86_400.0
FIRST_MONDAY_AT = datetime(2017, 10, 2, tzinfo=UTC)
WINDOW_DAYS = 14
WINDOWS = (0, 1, 2, 3, 4)
"""Two weeks each, one after the other; a window's number also seeds its draw of models."""
GPU_TYPE = "A100"
NODES, GPUS_PER_NODE = 16, 8
HOST_IDLE_W, HOST_PEAK_W = 400.0, 1000.0
MOST_GPUS = 64
"""ElasticFlow measured up to so many."""
# Checkpoint and restart together cost a stopped, resized or moved job 60 s.
COSTS = Costs(
    checkpoint_s=30.0,
    restart_s=30.0,
    boot_s=120.0,
    slowdown_in_rack=0.2,
    slowdown_in_switch=0.2,
    slowdown_across=0.2,
)
PACE = Pace(interval_s=900.0, on_events=True, sample_s=3600.0)
ETAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
ABLATION_ETAS = (0.4, 0.7, 1.0)

Ablation = Literal["", "clock fixed", "GPU count fixed", "no buddy", "no power-off"]
ABLATIONS: dict[Ablation, dict[str, Any]] = {
    "clock fixed": {"clock": "max"},
    "GPU count fixed": {},
    "no buddy": {"placement": "pack"},
    "no power-off": {"power_off": False},
}
_CONSOLIDATE = {"placement": "consolidate"}
BASELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "FIFO": ("fifo", _CONSOLIDATE),
    "Gandiva-style": ("gandiva", _CONSOLIDATE),
    "Gandiva-style + Zeus-style": ("gandiva", {**_CONSOLIDATE, "clock": "efficient"}),
    "Tiresias": ("las", _CONSOLIDATE),
    "Tiresias + Zeus-style": ("las", {**_CONSOLIDATE, "clock": "efficient"}),
    "AFS-style": ("afs", {}),
    "AFS-style + Zeus-style": ("afs", {"clock": "efficient"}),
}
WAIT_PRICES_PER_H = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""fairwatt's dial; it has no power budget and one tenant, so that fairness means nothing."""
ELASTIC = ("afs", "powerflow", "fairwatt")


@dataclass(frozen=True, slots=True)
class PowerflowCase:
    """One run: a baseline, fairwatt, or PowerFlow-style at a share `eta` of the most watts."""

    window: int
    baseline: str = ""
    eta: float = 0.0
    ablation: Ablation = ""
    wait_price_per_h: float = 0.0

    def name(self) -> str:
        """Tells every case from every other, for people and as a key."""
        if self.baseline:
            return f"{self.baseline} (window {self.window})"
        if self.wait_price_per_h:
            return f"fairwatt, wait price {self.wait_price_per_h:g} (window {self.window})"
        without = f", {self.ablation}" if self.ablation else ""
        return f"PowerFlow-style{without}, eta {self.eta:g} (window {self.window})"

    def policy(self) -> tuple[str, dict[str, Any]]:
        if self.baseline:
            return BASELINES[self.baseline]
        if self.wait_price_per_h:
            return "fairwatt", {"wait_price_per_h": self.wait_price_per_h, "fairness": 0}
        return "powerflow", ABLATIONS[self.ablation] if self.ablation else {}

    @property
    def power_budget_w(self) -> float:
        return self.eta * most_w() if self.eta else float("inf")

    @property
    def elastic(self) -> bool:
        return self.policy()[0] in ELASTIC and self.ablation != "GPU count fixed"


def machines(nodes: int = NODES) -> Machines:
    known = load_gpu_types()[GPU_TYPE]
    kind = GpuKind(name=GPU_TYPE, idle_w=known.idle_w, max_w=known.max_w, mem_mib=known.mem_mib)
    node = NodeKind(
        count=nodes,
        gpus=GPUS_PER_NODE,
        gpu_type=GPU_TYPE,
        per_rack=4,
        per_switch=nodes,
        host_idle_w=HOST_IDLE_W,
        host_peak_w=HOST_PEAK_W,
    )
    return build([node], [kind])


def most_w() -> float:
    """What the cluster draws with every GPU at its limit and every host at its peak."""
    return NODES * (HOST_PEAK_W + GPUS_PER_NODE * load_gpu_types()[GPU_TYPE].max_w)


def setting_of(case: PowerflowCase) -> Setting:
    there, table, jobs = machines(), profiles(), workload(case.window)
    if case.elastic:
        jobs = jobs.but(gpus=np.ones(len(jobs)), max_gpus=np.full(len(jobs), MOST_GPUS))
    return Setting(
        jobs=jobs,
        tenants=unlimited_tenants(1, 1),
        tenant_names=("all",),
        machines=there,
        believed_work=jobs.work,
        profiles=table,
        believed_profiles=table,
        costs=COSTS,
        origin_s=float(jobs.submitted_s[0]),
        seed=case.window,
        power_budget_w=case.power_budget_w,
        power_off=True,
        min_idle_s=0.0,
    )


@cache
def profiles() -> ProfileTable:
    return example_table(GPU_TYPE)[1]


@cache
def workload(window: int) -> Workload:
    from_s = FIRST_MONDAY_AT.timestamp() + window * WINDOW_DAYS * DAY_S
    return modelled(from_s, from_s + WINDOW_DAYS * DAY_S, seed=window)


def modelled(from_s: float, to_s: float, *, seed: int) -> Workload:
    """Jobs of a stretch with the GPUs they asked for, their work in steps of their model."""
    jobs, table = scale.window(_busiest(), from_s, to_s).jobs, profiles()
    asked = (1 << np.ceil(np.log2(jobs.gpus)).astype(np.int64)).clip(max=MOST_GPUS)
    profile = models(asked, table, np.random.default_rng([seed, 3]))
    at = np.searchsorted(table.gpu_counts, asked)
    work = jobs.work * table.throughput[profile, 0, at, -1]
    count = len(jobs)
    return jobs.but(
        work=work,
        gpus=asked,
        max_gpus=asked,
        profile=profile,
        tenant=np.zeros(count),
        partition=np.full(count, -1),
    )


def models(asked: I64, table: ProfileTable, random: np.random.Generator) -> I64:
    """At random among the models that gain from the last doubling: users do not ask for a loss.

    Gains are those of the first GPU type at the highest clock.
    """
    speed: F64 = table.throughput[:, 0, :, -1]
    counts: I32 = table.gpu_counts
    chosen = np.zeros(len(asked), np.int64)
    for gpus in np.unique(asked).tolist():
        at = int(np.searchsorted(counts, gpus))
        gains = speed[:, at] > speed[:, at - 1] if at else np.full(len(speed), True)
        fitting = np.flatnonzero(gains)
        these = asked == gpus
        chosen[these] = fitting[random.integers(len(fitting), size=int(these.sum()))]
    return chosen


@cache
def _busiest() -> Trace:
    trace, _ = philly(data_directory() / "philly" / "philly.csv.gz")
    return scale.busiest_partitions(trace, 1)
