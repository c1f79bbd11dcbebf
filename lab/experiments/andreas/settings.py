"""The published setting of ANDREAS: nodes, applications, arrivals and due dates, as fixed there."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lab.experiments.andreas.tariff import TariffName, price_of
from policies.contract.columns import F64, I64
from policies.contract.snapshot import ProfileTable, Span
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.machines import GpuKind, Machines, NodeKind, build
from simulator.setting import Setting, unlimited_tenants
from simulator.workload import Workload

NODES = (10, 20, 50, 100)
JOBS_PER_NODE = 10
INSTANCES = (0, 1, 2)
SEEDS = (0, 1, 2, 3, 4)
BASELINES = ("fifo", "edf", "ps")
VARIANTS = ("exclusive", "shared")

PUE = 1.33
RESCHEDULE_S = 3600.0
GPU_TYPES = ("TESLA", "TURING")
# Watts of a node: so many once it is used, and so many more per GPU in use.
NODE_W = (360.0, 320.0)
GPU_W = (170.0, 80.0)
NODE_GPUS = (4, 2)
PRIORITY_WEIGHTS = (0.00025371, 0.00030128, 0.00034885, 0.00039642, 0.00044399)
HIGH_LOAD, LOW_LOAD = 1 / 2.5, 1 / 10
GPUS_PER_NODE_IN_RATE = 4
GROUP_SIZE = 10


class App(NamedTuple):
    """Seconds per epoch on one TESLA, two TESLA and one TURING."""

    tesla_s: float
    two_tesla_s: float
    turing_s: float
    epochs: tuple[int, ...]


APPS = {
    "LSTM-big": App(43.0842, 30.5512, 110.7112, (120, 160, 320)),
    "LSTM-small": App(43.0261, 30.5871, 110.6581, (120, 160, 320)),
    "EfficientNet": App(51.6221, 41.2372, 88.9881, (120, 160)),
    "ConvNet": App(20.5382, 17.8042, 41.2582, (160, 320)),
}

# Nothing that a plan does costs time, as in the paper's simulation.
COSTS = Costs(hands_over=True)
PACE = Pace(at_latest_s=RESCHEDULE_S, sample_s=3600.0)
ANDREAS: dict[str, Any] = {
    "energy": "node",
    "iterations": 1000,
    "alpha": 0.05,
    "swap_bias": 0.05,
    "rho": 100.0,
    "switch_gain": 0.0,
    "min_run_s": 0.0,
    "analyzer": False,
}
# The objective of the paper is energy and tardiness, in a world where no change costs time.
FAIRWATT: dict[str, Any] = {
    "wait_price_per_h": 0,
    "empty_nodes_off": True,
    "hysteresis": 1,
    "min_run_s": 0,
    "fairness": 0,
}

# Policies of the registry under their own names; the other methods are an order and a variant.
METHODS: dict[str, dict[str, Any]] = {"andreas": ANDREAS, "fairwatt": FAIRWATT}


@dataclass(frozen=True, slots=True)
class AndreasCase:
    """One run: a method on an instance; the seed is the algorithm's, 0 for those without chance."""

    nodes: int
    instance: int
    method: str
    seed: int = 0
    tariff: TariffName = "flat"

    def name(self) -> str:
        tariff = "" if self.tariff == "flat" else f", {self.tariff}"
        return f"{self.method} (N={self.nodes}, instance {self.instance}, seed {self.seed}{tariff})"

    def policy(self) -> tuple[str, dict[str, Any]]:
        if self.method in METHODS:
            return self.method, METHODS[self.method]
        order, variant = self.method.split()
        return "first-principle", {
            "energy": "node",
            "order": order,
            "exclusive": variant == "exclusive",
        }


def machines(nodes: int) -> Machines:
    """Alternating, the larger kind first."""
    kinds = [
        NodeKind(
            count=1,
            gpus=NODE_GPUS[at % 2],
            gpu_type=GPU_TYPES[at % 2],
            host_idle_w=NODE_W[at % 2],
            host_peak_w=NODE_W[at % 2],
        )
        for at in range(nodes)
    ]
    gpus = [GpuKind(name=name, max_w=w) for name, w in zip(GPU_TYPES, GPU_W, strict=True)]
    return build(kinds, gpus)


def profiles() -> ProfileTable:
    """Epochs per second over (application, GPU type, one or two GPUs); TURING only alone."""
    throughput = np.array(
        [
            [[1 / app.tesla_s, 1 / app.two_tesla_s], [1 / app.turing_s, np.nan]]
            for app in APPS.values()
        ]
    )[..., None]
    watts = np.broadcast_to(np.array(GPU_W)[None, :, None, None], throughput.shape)
    return ProfileTable.of(
        id=np.arange(len(APPS)),
        gpu_counts=[1, 2],
        clocks_mhz=np.zeros((2, 1)),
        throughput=throughput,
        watts_per_gpu=watts,
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((len(APPS), 0, 0)),
    )


def workload(nodes: int, instance: int) -> Workload:
    rng = np.random.default_rng([nodes, instance])
    count = JOBS_PER_NODE * nodes
    app = rng.integers(len(APPS), size=count)
    apps = tuple(APPS.values())
    epochs = np.array([rng.choice(apps[kind].epochs) for kind in app.tolist()], np.float64)
    per_epoch_s = np.array([apps[kind][:3] for kind in app.tolist()])
    times_s = per_epoch_s * epochs[:, None]
    submitted_s = _arrivals(rng, nodes, times_s[:, [0, 2]].min(axis=1))
    due_s = submitted_s + rng.uniform(times_s.min(axis=1), times_s.max(axis=1))
    priority = rng.integers(1, 6, size=count)
    return Workload.sorted(
        submitted_s=submitted_s,
        work=epochs,
        gpus=np.ones(count),
        max_gpus=np.full(count, 2),
        profile=app,
        priority=priority,
        deadline_s=due_s,
        tardiness_weight=np.array(PRIORITY_WEIGHTS)[priority - 1],
        span=np.full(count, Span.NODE),
    )


def _arrivals(rng: np.random.Generator, nodes: int, fastest_s: F64) -> F64:
    """Groups follow one another, at high and low rates in turn; group k holds every k-th job."""
    groups = round(len(fastest_s) / GROUP_SIZE)
    rate = nodes * GPUS_PER_NODE_IN_RATE / fastest_s
    members: list[I64] = [np.arange(first, len(fastest_s), groups) for first in range(groups)]
    gaps_s = [
        rng.exponential(1 / (rate[jobs].mean() * (LOW_LOAD if group % 2 else HIGH_LOAD)), len(jobs))
        for group, jobs in enumerate(members)
    ]
    gap_s = np.concatenate(gaps_s)
    gap_s[0] = 0.0
    submitted_s = np.empty(len(fastest_s))
    submitted_s[np.concatenate(members)] = np.cumsum(gap_s)
    return submitted_s


def setting_of(case: AndreasCase) -> Setting:
    jobs, table = workload(case.nodes, case.instance), profiles()
    return Setting(
        jobs=jobs,
        tenants=unlimited_tenants(1, len(GPU_TYPES)),
        tenant_names=("all",),
        machines=machines(case.nodes),
        believed_work=jobs.work,
        profiles=table,
        believed_profiles=table,
        costs=COSTS,
        origin_s=0.0,
        seed=case.seed,
        pue=PUE,
        price=price_of(case.tariff),
        empty_nodes_off=True,
    )
