"""The openb-derived workload of the frontier: pods of two GPU types at a load of 0.7."""

from dataclasses import replace
from functools import cache

import numpy as np

from jobs.profiling.performance.application import Application
from jobs.profiling.tensors import profile_table
from lab.calibration.load import clock_steps, load_applications, load_gpu_types
from lab.experiments.frontier.world import FrontierWorld, begins_s, with_demands
from lab.experiments.powerflow.settings import DAY_S, models
from policies.contract.columns import F64, I64
from policies.contract.snapshot import ANY_GPU_TYPE, ProfileTable
from simulator.generate import scale
from simulator.machines import GpuKind, Machines, NodeKind, apportion, build
from simulator.scenario.files import data_directory
from simulator.traces.alibaba import openb_nodes, openb_pods
from simulator.workload import Trace, Workload

GPU_TYPES = ("V100", "P100")
NODES = 24
LOAD = 0.7
SHORTEST_S, LONGEST_S = 2 * 3600.0, 7 * DAY_S
SPAN_S = 3 * DAY_S
TWELFTHS = 12
COPY_SHIFT_S = 12 * 3600.0
GPU_COUNTS = (1, 2, 4, 8)
CLOCKS = 9
# Of a host, for every GPU that it has.
HOST_IDLE_W, HOST_PEAK_W = 50.0, 125.0
_FOLDER = "alibaba_openb_v2023"


@cache
def world(window: int) -> FrontierWorld:
    there, (applications, table) = machines(), _models()
    jobs = workload(window, there.gpus)
    most = np.array([_most_gpus(one) for one in applications])
    return FrontierWorld(
        machines=there, profiles=table, jobs=jobs, most_gpus=most[jobs.profile].astype(np.int64)
    )


@cache
def machines() -> Machines:
    """So many nodes in the proportions of the list, by GPU type and count; single GPUs left out."""
    listed = openb_nodes(data_directory() / _FOLDER / "openb_node_list_gpu_node.csv")
    counts: dict[tuple[str, int], int] = {}
    for kind, gpus in zip(listed.nodes.gpu_type.tolist(), listed.nodes.gpus.tolist(), strict=True):
        # V100M16 and V100M32 are V100.
        name = listed.gpu_types.name[kind].partition("M")[0]
        if name in GPU_TYPES and gpus > 1:
            counts[name, gpus] = counts.get((name, gpus), 0) + 1
    order = sorted(counts, key=lambda key: (GPU_TYPES.index(key[0]), -key[1]))
    shares = apportion(NODES, [counts[key] for key in order])
    kinds = [
        NodeKind(
            count=share,
            gpus=gpus,
            gpu_type=name,
            per_rack=4,
            per_switch=NODES,
            host_idle_w=HOST_IDLE_W * gpus,
            host_peak_w=HOST_PEAK_W * gpus,
        )
        for (name, gpus), share in zip(order, shares, strict=True)
    ]
    return build(kinds, [_gpu_kind(name) for name in GPU_TYPES])


def _gpu_kind(name: str) -> GpuKind:
    known = load_gpu_types()[name]
    return GpuKind(name=name, idle_w=known.idle_w, max_w=known.max_w, mem_mib=known.mem_mib)


@cache
def _models() -> tuple[list[Application], ProfileTable]:
    known = [one for one in load_applications() if set(GPU_TYPES) <= set(one.behaviours)]
    table = profile_table(
        np.arange(len(known)),
        known,
        GPU_TYPES,
        gpu_counts=GPU_COUNTS,
        clocks_mhz=[clock_steps(name, CLOCKS) for name in GPU_TYPES],
    )
    return known, table


def _most_gpus(application: Application) -> int:
    """The most that it was measured on, on every type."""
    fits = [application.behaviours[name].throughput for name in GPU_TYPES]
    return int(min(fit.ranges["gpus"].high for fit in fits if fit is not None))


def workload(window: int, gpus: int) -> Workload:
    pods = _pods(window)
    on_p100 = np.uint64(1 << pods.gpu_types.index("P100"))
    drawn = scale.at_load(pods, gpus, SPAN_S, LOAD, window, most_shift_s=COPY_SHIFT_S).jobs
    kind = np.where(drawn.gpu_types == on_p100, GPU_TYPES.index("P100"), GPU_TYPES.index("V100"))
    _, table = _models()
    asked = drawn.gpus.astype(np.int64)
    profile = models(asked, table, np.random.default_rng([window, 3]))
    count = len(drawn)
    jobs = drawn.but(
        work=drawn.work * _speed(table, profile, kind, asked),
        profile=profile,
        tenant=np.zeros(count),
        gpu_types=np.full(count, ANY_GPU_TYPE, np.uint64),
        cpus_per_gpu=np.zeros(count),
        mem_mib_per_gpu=np.zeros(count),
    )
    return with_demands(jobs, drawn.work, window)


def _speed(table: ProfileTable, profile: I64, kind: I64, asked: I64) -> F64:
    at = np.searchsorted(table.gpu_counts, asked)
    return np.asarray(table.throughput[profile, kind, at, -1], np.float64)


def _pods(window: int) -> Trace:
    """A twelfth of the pods by creation, their arrivals stretched or squeezed to the window."""
    trace = _trace()
    rows = np.array_split(np.arange(len(trace.jobs)), TWELFTHS)[window]
    jobs = trace.jobs.rows(rows)
    from_s, to_s = jobs.submitted_s[0], jobs.submitted_s[-1]
    share = (jobs.submitted_s - from_s) / (to_s - from_s)
    return replace(trace, jobs=jobs.but(submitted_s=begins_s(window) + SPAN_S * share))


@cache
def _trace() -> Trace:
    path = data_directory() / _FOLDER / "openb_pod_list_gpuspec33.csv.gz"
    trace, _ = openb_pods(path, parts_as_whole=True)
    run_s = trace.jobs.work
    return replace(trace, jobs=trace.jobs.rows((run_s >= SHORTEST_S) & (run_s <= LONGEST_S)))
