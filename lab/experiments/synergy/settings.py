"""The worlds of the Synergy experiment: servers of 8 V100, and jobs drawn as the spec says."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from policies.contract.columns import F64, I32, I64
from policies.contract.snapshot import ProfileTable
from policies.synergy.parameters import PackingName
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.machines import NodeKind, build
from simulator.scenario.files import data_directory
from simulator.setting import Setting, unlimited_tenants
from simulator.traces.clusters import philly
from simulator.workload import Workload

HOUR_S, MINUTE_S, MIB_PER_GB = 3600.0, 60.0, 1024
ROUND_S = 300.0
SERVER_GPUS, SERVER_MEM_MIB = 8, 500 * MIB_PER_GB
FAIR_MEM_GB = 62.5
# Statistics are about jobs 4000 to 5000; the jobs behind them keep the cluster as busy.
FIRST_MEASURED, MEASURED_TO, JOBS = 4000, 5000, 6000
SIZES = (1, 2, 4, 8, 16)

Ordering = Literal["fifo", "srtf", "las", "ftf"]
Split = Literal["20/70/10", "33/33/33", "50/0/50"]
Gangs = Literal["single", "multi"]
ORDERINGS: tuple[Ordering, ...] = ("fifo", "srtf", "las", "ftf")
SPLITS: dict[Split, tuple[float, float, float]] = {
    "20/70/10": (20, 70, 10),
    "33/33/33": (1, 1, 1),
    "50/0/50": (50, 0, 50),
}
IMAGE = ("alexnet", "res18", "res50", "shufflenet", "mobilenet")
LANGUAGE = ("gnmt", "lstm", "transformer", "bert")
SPEECH = ("m5", "deepspeech")
MODELS = (*IMAGE, *LANGUAGE, *SPEECH)
CLASSES = (IMAGE, LANGUAGE, SPEECH)


# Beside such a price of waiting energy costs next to nothing: what counts is the mean completion
# time. As for the other orders nobody is safe for having just started, and nodes stay on.
BY_MONEY: dict[str, Any] = {
    "min_run_s": 0.0,
    "max_preemptions": 100_000,
    "wait_price_per_h": 1.0,
    "fairness": 0.0,
    "hysteresis": 1.0,
    "placement": "pack",
    "power_off": False,
}


@dataclass(frozen=True, slots=True)
class SynergyCase:
    """One cell of the grid with one seed; `load` is jobs per hour on 128 GPUs.

    With `by_money` fairwatt plans it, to be compared with the same case without.
    """

    ordering: Ordering
    packing: PackingName
    gangs: Gangs = "single"
    load: float = 9.0
    split: Split = "20/70/10"
    servers: int = 16
    cpus_per_gpu: int = 3
    pooled: bool = False
    migration: bool = True
    by_money: bool = False
    seed: int = 0

    def name(self) -> str:
        where = f"{self.servers * SERVER_GPUS} GPUs, {self.cpus_per_gpu} CPUs each"
        pooled = ", pooled" if self.pooled else "" if self.migration else ", staying"
        what = f"{self.gangs}, {self.load:g}/h, {self.split}"
        who = "fairwatt" if self.by_money else f"{self.ordering.upper()} {self.packing}"
        return f"{who} ({what}, {where}{pooled}, seed {self.seed})"

    def policy(self) -> tuple[str, dict[str, Any]]:
        """Its name and parameters."""
        if self.by_money:
            return "fairwatt", BY_MONEY
        return "synergy", {
            "ordering": self.ordering,
            "packing": self.packing,
            "min_run_s": 0.0,
            "max_preemptions": 100_000,
            "migration": self.migration,
        }

    def pace(self) -> Pace:
        """Service attained and fairness change with time alone; the other orders do not."""
        return Pace(
            interval_s=ROUND_S,
            on_events=False,
            sample_s=float("inf"),
            unchanged="none" if self.ordering in ("fifo", "srtf") else "queued",
            follow_up=True,
            first_jobs=MEASURED_TO,
        )


def setting_of(case: SynergyCase) -> Setting:
    # Pooled, CPUs and memory are wherever they are wanted: what OPT's program takes for granted.
    # A node of the simulator has at most 64 GPUs, so that a pool is made of such nodes.
    per_node = min(8, case.servers) if case.pooled else 1
    node = NodeKind(
        count=case.servers // per_node,
        gpus=SERVER_GPUS * per_node,
        cpus=SERVER_GPUS * per_node * case.cpus_per_gpu,
        mem_mib=SERVER_MEM_MIB * per_node,
    )
    profiles = profiles_of(case.cpus_per_gpu)
    jobs = workload(case)
    return Setting(
        jobs=jobs,
        tenants=unlimited_tenants(1, 1),
        tenant_names=("all",),
        machines=build([node]),
        believed_work=jobs.work,
        profiles=profiles,
        believed_profiles=profiles,
        costs=Costs(),
        origin_s=0.0,
        seed=case.seed,
    )


def workload(case: SynergyCase) -> Workload:
    """The same jobs for every ordering and packing of a cell, and the same draws for every load."""
    random = np.random.default_rng([case.seed, *map(ord, case.split), case.gangs == "multi"])
    short = 10 ** random.uniform(1.5, 3.0, JOBS)
    long = 10 ** random.uniform(3.0, 4.0, JOBS)
    minutes = np.where(random.random(JOBS) < 0.8, short, long)
    model = _models(random, SPLITS[case.split])
    gpus = _gangs(random) if case.gangs == "multi" else np.ones(JOBS, np.int32)
    gaps = random.exponential(1.0, JOBS)
    rate_per_h = case.load * case.servers / 16
    units = _philly_units(random) if case.servers >= 64 else np.cumsum(gaps)
    size = np.searchsorted(SIZES, gpus)
    return Workload.sorted(
        submitted_s=units * HOUR_S / rate_per_h,
        work=minutes * MINUTE_S,
        gpus=gpus,
        profile=model * len(SIZES) + size,
    )


def _models(random: np.random.Generator, weights: tuple[float, float, float]) -> I64:
    chances = np.concatenate(
        [
            np.full(len(names), weight / sum(weights) / len(names))
            for names, weight in zip(CLASSES, weights, strict=True)
        ]
    )
    return random.choice(len(MODELS), JOBS, p=chances)


def _gangs(random: np.random.Generator) -> I32:
    """Philly's sizes, at most 16; those that are no power of two become 1."""
    asked = random.choice(_philly()[1], JOBS)
    return np.where(np.isin(asked, SIZES), asked, 1).astype(np.int32)


def _philly_units(random: np.random.Generator) -> F64:
    """Philly's submissions from a random job on, stretched to one per unit of time on average."""
    submitted_s, _ = _philly()
    first = int(random.integers(len(submitted_s) - JOBS))
    window = submitted_s[first : first + JOBS] - submitted_s[first]
    units: F64 = window / window[-1] * JOBS
    return units


@cache
def _philly() -> tuple[F64, I32]:
    trace, _ = philly(data_directory() / "philly" / "philly.csv.gz")
    return trace.jobs.submitted_s, trace.jobs.gpus


@cache
def profiles_of(cpus_per_gpu: int) -> ProfileTable:
    """A row per model and number of GPUs; speed 1 is the proportional share of these servers."""
    path = data_directory() / "synergy" / "synergy_sensitivity.json"
    data = json.loads(path.read_text())
    cpus, mem_gb = data["cpu_per_gpu"], data["mem_gb_per_gpu"]
    measured = data["sets"]["models" if cpus_per_gpu == 3 else f"models-{cpus_per_gpu}"]
    fair = cpus.index(cpus_per_gpu), mem_gb.index(FAIR_MEM_GB)
    rows = [_matrix(measured, model, gpus, fair) for model in MODELS for gpus in SIZES]
    shape = (len(rows), 1, len(SIZES), 1)
    return ProfileTable.of(
        id=np.arange(len(rows)),
        gpu_counts=SIZES,
        clocks_mhz=[[1]],
        throughput=np.ones(shape),
        watts_per_gpu=np.full(shape, np.nan),
        cpus_per_gpu=cpus,
        mem_mib_per_gpu=np.ceil(np.array(mem_gb) * MIB_PER_GB),
        relative_speed=np.stack(rows),
    )


def _matrix(measured: dict[str, Any], model: str, gpus: int, fair: tuple[int, int]) -> F64:
    """Of this many GPUs, else of the most that were measured below; 0 is not possible there."""
    counts = [n for n in (4, 2, 1) if n <= gpus and f"{model}_{n}gpu" in measured]
    speed = np.array(measured[f"{model}_{counts[0]}gpu"]["tput"], np.float64)
    if speed.shape[1] < 5:
        # Gangs were not measured with the least memory.
        speed = np.column_stack([np.zeros(len(speed)), speed])
    found: F64 = speed / speed[fair]
    found[found <= 0] = np.nan
    return found
