"""What jobs can run on: every (GPU type, count) with its time and watts, in the order of drawing.

A job with a profile has the points measured for it between its fewest and most GPUs. Without one
nobody has said that more GPUs help: it has its fewest GPUs, for the time that is estimated.
"""

from typing import NamedTuple

import numpy as np

from policies.andreas.node_classes import AndreasNodeClasses
from policies.bench.power import busy_gpu_w, held_gpus, watts_per_gpu
from policies.bench.roster import lost_s, remaining_s
from policies.bench.ways import WayColumns, relative_speed
from policies.contract.columns import F64, I64
from policies.contract.snapshot import JobState, Snapshot
from policies.pricing.price_line import PriceLine

# What runs past its estimate may end any moment; a time of nothing would hide every cost.
SOONEST_S = 1.0
PAST_ESTIMATE_S = 60.0


class Configurations(NamedTuple):
    """Sorted by job; job i of the rows asked for has `first[i]:first[i + 1]`."""

    ways: WayColumns
    first: I64
    meeting: I64
    """So many of a job's, the first, meet its due date."""

    def fastest_s(self) -> F64:
        return self._per_job(np.minimum, np.inf)

    def slowest_s(self) -> F64:
        return self._per_job(np.maximum, 0.0)

    def _per_job(self, pick: np.ufunc, without: float) -> F64:
        found = np.full(len(self.first) - 1, without)
        pick.at(found, self.ways.job, self.ways.run_s)
        return found


def configurations(
    snapshot: Snapshot,
    rows: I64,
    machines: AndreasNodeClasses,
    capacity: I64,
    *,
    line: PriceLine,
    default_run_s: float,
) -> Configurations:
    """`capacity` is over (row, GPU type): the most GPUs that one node within reach has."""
    ways = _possible(snapshot, rows, capacity, default_run_s)
    ways = ways._replace(run_s=ways.run_s + _switching_s(snapshot, rows, ways))
    job, kind, gpus, seconds = ways.job, ways.gpu_type, ways.gpus, ways.run_s
    host_w = machines.least_of_type(machines.host_w)
    each_w = busy_gpu_w(ways.gpu_w, machines.idle_w[kind], host_w[kind])
    watts = machines.least_of_type(machines.base_w)[kind] + gpus * each_w
    meets = seconds <= (snapshot.jobs.deadline_s - snapshot.now_s)[rows[job]]
    key = np.where(meets, watts * line.cost(0.0, seconds), seconds)
    order = np.lexsort((kind, gpus, key, ~meets, job))
    return Configurations(
        ways.only(order),
        np.searchsorted(job[order], np.arange(len(rows) + 1)),
        np.bincount(job[meets], minlength=len(rows)),
    )


def _possible(snapshot: Snapshot, rows: I64, capacity: I64, default_run_s: float) -> WayColumns:
    measured = _measured(snapshot, rows, capacity).permitted(snapshot, rows)
    others = _estimated(snapshot, rows, capacity, default_run_s).permitted(snapshot, rows)
    return measured.beside(others.only(np.isin(others.job, measured.job, invert=True)))


def _measured(snapshot: Snapshot, rows: I64, capacity: I64) -> WayColumns:
    jobs, table = snapshot.jobs, snapshot.profiles
    known = np.flatnonzero((jobs.profile[rows] >= 0) & ~np.isnan(jobs.work_left[rows]))
    at = rows[known]
    if not len(known) or not table.throughput.size:
        return WayColumns.none()
    counts = table.gpu_counts.astype(np.int64)
    # No clock is chosen here: an unset one is the highest.
    speed = table.throughput[jobs.profile[at], :, :, -1]
    job, kind, count = np.nonzero((speed > 0) & (counts <= capacity[known][:, :, None]))
    seconds = jobs.work_left[at][job] / (speed[job, kind, count] * _kept_speed(snapshot, at)[job])
    watts = table.watts_per_gpu[jobs.profile[at][job], kind, count, -1]
    gpu_w = np.where(np.isnan(watts), snapshot.gpu_types.max_w[kind], watts)
    unset = np.zeros(len(job), np.int32)
    run_s = np.maximum(seconds, SOONEST_S)
    return WayColumns(known[job], kind, counts[count], unset, run_s, gpu_w)


def _kept_speed(snapshot: Snapshot, rows: I64) -> F64:
    """How much of its speed a job keeps with the CPUs and memory it asks for per GPU."""
    jobs = snapshot.jobs
    if not snapshot.profiles.relative_speed.size:
        return np.ones(len(rows))
    cpus, mem_mib = jobs.cpus_per_gpu[rows], jobs.mem_mib_per_gpu[rows]
    speed = relative_speed(snapshot, rows, cpus, mem_mib)
    return np.where(speed > 0, speed, 1.0)


def _estimated(snapshot: Snapshot, rows: I64, capacity: I64, default_run_s: float) -> WayColumns:
    gpus = snapshot.jobs.min_gpus[rows].astype(np.int64)
    job, kind = np.nonzero(gpus[:, None] <= capacity)
    seconds = estimated_s(snapshot, rows, default_run_s)
    gpu_w = watts_per_gpu(snapshot)[rows[job], kind]
    return WayColumns(job, kind, gpus[job], np.zeros(len(job), np.int32), seconds[job], gpu_w)


def estimated_s(snapshot: Snapshot, rows: I64, default_run_s: float) -> F64:
    return np.maximum(remaining_s(snapshot, default_run_s)[rows], PAST_ESTIMATE_S)


def held(snapshot: Snapshot, rows: I64) -> tuple[I64, I64]:
    """GPU type and number of GPUs that jobs hold; -1 and 0 for none."""
    pieces = snapshot.placements
    has = np.diff(pieces.offset)[rows] > 0
    node = np.append(pieces.node, -1)[np.where(has, pieces.offset[rows], -1)]
    kind = np.append(snapshot.nodes.gpu_type, -1)[node]
    return kind.astype(np.int64), held_gpus(snapshot)[rows]


def _switching_s(snapshot: Snapshot, rows: I64, ways: WayColumns) -> F64:
    """What a running job loses by another configuration: work since its checkpoint, a restart."""
    row = rows[ways.job]
    running = snapshot.jobs.state[row] == JobState.RUNNING
    if not running.any():
        return np.zeros(len(row))
    kind_now, gpus_now = held(snapshot, row)
    changes = running & ((ways.gpu_type != kind_now) | (ways.gpus != gpus_now))
    return np.where(changes, lost_s(snapshot)[row], 0.0)
