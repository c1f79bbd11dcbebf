"""What jobs can run on: every (GPU type, count) with its time and watts, in the order of drawing.

A job with a profile has the points measured for it between its fewest and most GPUs. Without one
nobody has said that more GPUs help: it has its fewest GPUs, for the time that is estimated.
"""

from typing import NamedTuple

import numpy as np

from policies.bench.power import busy_gpu_w, watts_per_gpu
from policies.bench.roster import lost_s
from policies.contract.columns import F64, I64, Bool
from policies.contract.snapshot import JobState, Snapshot
from policies.pricing.price_line import PriceLine

# What runs past its estimate may end any moment; a time of nothing would hide every cost.
SOONEST_S = 1.0
PAST_ESTIMATE_S = 60.0


class Configurations(NamedTuple):
    """Sorted by job; job i of the rows asked for has `first[i]:first[i + 1]`."""

    job: I64
    kind: I64
    gpus: I64
    seconds: F64
    gpu_w: F64
    """Of one GPU."""
    first: I64
    meeting: I64

    def fastest_s(self) -> F64:
        return self._per_job(np.minimum, np.inf)

    def slowest_s(self) -> F64:
        return self._per_job(np.maximum, 0.0)

    def _per_job(self, pick: np.ufunc, without: float) -> F64:
        found = np.full(len(self.first) - 1, without)
        pick.at(found, self.job, self.seconds)
        return found


class Machine(NamedTuple):
    """Per GPU type, of its cheapest node: watts once it is open, and of the host per GPU."""

    base_w: F64
    host_w: F64
    idle_w: F64
    """Of a GPU; counted with the base where the whole node is, so not again with the GPU."""


def configurations(
    snapshot: Snapshot,
    rows: I64,
    *,
    capacity: I64,
    machine: Machine,
    line: PriceLine,
    default_run_s: float,
) -> Configurations:
    """`capacity` is over (row, GPU type): the most GPUs that one node within reach has."""
    job, kind, gpus, seconds, gpu_w = _possible(snapshot, rows, capacity, default_run_s)
    seconds = seconds + _switching_s(snapshot, rows[job], kind, gpus)
    each_w = busy_gpu_w(gpu_w, machine.idle_w[kind], machine.host_w[kind])
    watts = machine.base_w[kind] + gpus * each_w
    meets = seconds <= (snapshot.jobs.deadline_s - snapshot.now_s)[rows[job]]
    key = np.where(meets, watts * line.cost(0.0, seconds), seconds)
    order = np.lexsort((kind, gpus, key, ~meets, job))
    return Configurations(
        job[order],
        kind[order],
        gpus[order],
        seconds[order],
        gpu_w[order],
        np.searchsorted(job[order], np.arange(len(rows) + 1)),
        np.bincount(job[meets], minlength=len(rows)),
    )


def _possible(
    snapshot: Snapshot, rows: I64, capacity: I64, default_run_s: float
) -> tuple[I64, I64, I64, F64, F64]:
    kinds = np.arange(len(snapshot.gpu_types), dtype=np.uint64)
    may = (snapshot.jobs.gpu_types[rows, None] >> kinds & np.uint64(1)).astype(np.bool_)
    measured = _measured(snapshot, rows, capacity, may)
    by_estimate = np.ones(len(rows), np.bool_)
    by_estimate[measured[0]] = False
    estimated = _estimated(snapshot, rows, capacity, may & by_estimate[:, None], default_run_s)
    return tuple(np.concatenate(pair) for pair in zip(measured, estimated, strict=True))  # type: ignore[return-value]


def _measured(
    snapshot: Snapshot, rows: I64, capacity: I64, may: Bool
) -> tuple[I64, I64, I64, F64, F64]:
    jobs, table = snapshot.jobs, snapshot.profiles
    known = np.flatnonzero((jobs.profile[rows] >= 0) & ~np.isnan(jobs.work_left[rows]))
    at = rows[known]
    if not len(known) or not table.throughput.size:
        none = np.empty(0, np.int64)
        return none, none, none, np.empty(0), np.empty(0)
    counts = table.gpu_counts.astype(np.int64)
    # No clock is chosen here: an unset one is the highest.
    speed = table.throughput[jobs.profile[at], :, :, -1]
    inside = (counts >= jobs.min_gpus[at, None]) & (counts <= jobs.max_gpus[at, None])
    with np.errstate(invalid="ignore"):
        there = (speed > 0) & inside[:, None, :] & may[known][:, :, None]
    there &= counts <= capacity[known][:, :, None]
    job, kind, count = np.nonzero(there)
    seconds = jobs.work_left[at][job] / (speed[job, kind, count] * _care(snapshot, at)[job])
    watts = table.watts_per_gpu[jobs.profile[at][job], kind, count, -1]
    gpu_w = np.where(np.isnan(watts), snapshot.gpu_types.max_w[kind], watts)
    return known[job], kind, counts[count], np.maximum(seconds, SOONEST_S), gpu_w


def _care(snapshot: Snapshot, rows: I64) -> F64:
    """How much of its speed a job keeps with the CPUs and memory it asks for per GPU."""
    jobs, table = snapshot.jobs, snapshot.profiles
    if not table.relative_speed.size:
        return np.ones(len(rows))
    cpus = np.searchsorted(table.cpus_per_gpu, jobs.cpus_per_gpu[rows], side="right") - 1
    memory = np.searchsorted(table.mem_mib_per_gpu, jobs.mem_mib_per_gpu[rows], side="right") - 1
    speed = table.relative_speed[jobs.profile[rows], cpus.clip(min=0), memory.clip(min=0)]
    return np.where(speed > 0, speed, 1.0)


def _estimated(
    snapshot: Snapshot, rows: I64, capacity: I64, may: Bool, default_run_s: float
) -> tuple[I64, I64, I64, F64, F64]:
    jobs = snapshot.jobs
    gpus = jobs.min_gpus[rows].astype(np.int64)
    job, kind = np.nonzero(may & (gpus[:, None] <= capacity))
    seconds = estimated_s(snapshot, rows, default_run_s)
    gpu_w = watts_per_gpu(snapshot)[rows[job], kind] if len(job) else np.empty(0)
    return job, kind, gpus[job], seconds[job], gpu_w


def estimated_s(snapshot: Snapshot, rows: I64, default_run_s: float) -> F64:
    left_s = snapshot.jobs.est_run_s[rows]
    return np.maximum(np.where(np.isnan(left_s), default_run_s, left_s), PAST_ESTIMATE_S)


def held(snapshot: Snapshot, rows: I64) -> tuple[I64, I64]:
    """GPU type and number of GPUs that jobs hold; -1 and 0 for none."""
    pieces = snapshot.placements
    counts = np.bitwise_count(pieces.gpus).astype(np.int64)
    total = np.concatenate([[0], np.cumsum(counts)])[pieces.offset]
    first = pieces.offset[:-1][rows]
    has = pieces.offset[1:][rows] > first
    node = np.append(pieces.node, 0)[np.where(has, first, -1)]
    kind = np.where(has, snapshot.nodes.gpu_type[node] if len(snapshot.nodes) else -1, -1)
    return kind.astype(np.int64), np.diff(total)[rows]


def _switching_s(snapshot: Snapshot, rows: I64, kind: I64, gpus: I64) -> F64:
    """What a running job loses by another configuration: work since its checkpoint, a restart."""
    running = snapshot.jobs.state[rows] == JobState.RUNNING
    if not running.any():
        return np.zeros(len(rows))
    kind_now, gpus_now = held(snapshot, rows)
    changes = running & ((kind != kind_now) | (gpus != gpus_now))
    return np.where(changes, lost_s(snapshot)[rows], 0.0)
