"""The ways in which each job could run, from its profile or from what it asks for."""

import numpy as np

from policies.bench.power import clock_index, held_gpus, host_watts_per_gpu, watts_at
from policies.bench.roster import lost_s, remaining_s
from policies.bench.ways import WayColumns, Ways, pools
from policies.contract.columns import F64, I32, I64, Bool
from policies.contract.snapshot import JobState, ProfileTable, Snapshot
from policies.fairwatt.speeds import Speeds

# What a job that has outlived its estimate is taken to need once more: a share of its past, and a
# minute at least, or a share of all its work.
OVERRUN = 0.1
LEAST_S = 60.0
# Even a change that costs nothing must not happen for nothing.
LEAST_CHANGE_S = 1.0


class WayBuilder:
    """Ways of jobs of one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        default_run_s: float,
        empty_nodes_off: bool,
        speeds: Speeds | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.speed: F64 = np.ones(len(snapshot.jobs)) if speeds is None else speeds.planned
        self.default_run_s = default_run_s
        self._added_w = _added_watts(snapshot, empty_nodes_off=empty_nodes_off)

    def ways(self, rows: I64, *, restarts: float, resize: bool) -> Ways:
        """Of queued and running `rows`; a change is charged `restarts` times what it loses.

        Without `resize` a running job may only stay, or stop and come back as it was.
        """
        jobs = self.snapshot.jobs
        running = jobs.state[rows] == JobState.RUNNING
        held = self.held(rows[running])._replace(job=np.flatnonzero(running))
        changeable = np.flatnonzero(~running | resize)
        counted = self.counted(rows[changeable])
        profiled = self._profiled(rows, changeable[counted]).permitted(self.snapshot, rows)
        # Counts that the profile does not know, too, are taken as they are asked for.
        others = changeable[~np.isin(changeable, profiled.job)]
        found = profiled.beside(self._plain(rows, others).permitted(self.snapshot, rows))
        if not resize:
            found = found.beside(held)
        changed = found._replace(run_s=found.run_s + self._change_s(rows, found, held, restarts))
        stays = np.repeat([False, True], [len(changed.job), len(held.job)])
        return self._sorted(rows, changed.beside(held), stays)

    def held(self, rows: I64) -> WayColumns:
        """What the job `rows` have now; they are numbered as they stand."""
        snapshot, jobs, profiles = self.snapshot, self.snapshot.jobs, self.snapshot.profiles
        pieces = snapshot.placements
        gpus, clock = held_gpus(snapshot)[rows], jobs.clock_mhz[rows]
        kind = snapshot.nodes.gpu_type[pieces.node[pieces.offset[rows]]]
        each = np.arange(len(rows))
        gpu_w = watts_at(snapshot, rows, gpus, clock.astype(np.int64))[each, kind]
        run_s, known = self._remaining_s(rows), self.counted(rows)
        if known.any():
            at = np.searchsorted(profiles.gpu_counts, gpus).clip(max=len(profiles.gpu_counts) - 1)
            for one in range(len(snapshot.gpu_types)):
                step = clock_index(snapshot, one, clock.astype(np.int64))
                rate = profiles.throughput[jobs.profile[rows], one, at, step]
                here = known & (kind == one) & (rate > 0)
                work_s = self._work_left(rows[here]) / rate[here]
                run_s[here] = work_s / self.speed[rows[here]]
        return WayColumns(each, kind.astype(np.int64), gpus, clock, run_s, gpu_w)

    def added_w(self, found: WayColumns) -> F64:
        """What ways add to the cluster's draw."""
        return np.asarray((found.gpu_w + self._added_w[found.gpu_type]) * found.gpus, np.float64)

    def idle_w(self) -> F64:
        """Per GPU of each type, what ways count of watts that an idle node would draw anyway."""
        anyway_w = self._added_w - _added_watts(self.snapshot, empty_nodes_off=False)
        return np.asarray(anyway_w, np.float64)

    def counted(self, rows: I64) -> Bool:
        """Whether the time to run follows from work and throughput."""
        jobs = self.snapshot.jobs
        some = bool(self.snapshot.profiles.throughput.size)
        told = (jobs.work_left[rows] > 0) | (jobs.work_total[rows] > 0)
        return np.asarray((jobs.profile[rows] >= 0) & told & some)

    def _work_left(self, rows: I64) -> F64:
        """Of jobs with counted work; who has done all that was said has a part of it to go."""
        left, total = self.snapshot.jobs.work_left[rows], self.snapshot.jobs.work_total[rows]
        return np.where(left > 0, left, OVERRUN * total)

    def _change_s(self, rows: I64, found: WayColumns, held: WayColumns, restarts: float) -> F64:
        """Seconds that a way costs a running job before it works again; a clock changes at once."""
        jobs, count = self.snapshot.jobs, len(rows)
        kind, gpus = np.full(count, -1), np.zeros(count)
        kind[held.job], gpus[held.job] = held.gpu_type, held.gpus
        running = np.isin(found.job, held.job)
        clock = jobs.clock_mhz[rows[found.job]] != found.clock_mhz
        in_place = (kind[found.job] == found.gpu_type) & (gpus[found.job] == found.gpus) & clock
        lost = np.maximum(lost_s(self.snapshot)[rows[found.job]], LEAST_CHANGE_S)
        return np.where(running, np.where(in_place, LEAST_CHANGE_S, lost) * restarts, 0.0)

    def _sorted(self, rows: I64, found: WayColumns, stays: Bool) -> Ways:
        """By job; quick and frugal ways first, so that a search soon has something to beat."""
        watts = self.added_w(found)
        order = np.lexsort((watts * found.run_s, found.run_s, ~stays, found.job))
        found, stays = found.only(order), stays[order]
        snapshot, row, pieces = self.snapshot, rows[found.job], self.snapshot.placements
        partition = snapshot.jobs.partition[row]
        # A borrower stays where it is.
        partition[stays] = snapshot.nodes.partition[pieces.node[pieces.offset[row[stays]]]]
        return Ways(
            first=np.searchsorted(found.job, np.arange(len(rows) + 1)),
            pool=pools(snapshot, partition, found.gpu_type),
            gpu_type=found.gpu_type,
            gpus=found.gpus,
            clock_mhz=found.clock_mhz,
            run_s=np.maximum(found.run_s, 1.0),
            watts=watts[order],
            stays=stays,
        )

    def _profiled(self, rows: I64, at: I64) -> WayColumns:
        """Of jobs with a profile and known work: what is not dominated within its profile."""
        profiles, jobs = self.snapshot.profiles, self.snapshot.jobs
        max_w = self.snapshot.gpu_types.max_w[:, None, None]
        gpu_w = np.where(np.isnan(profiles.watts_per_gpu), max_w, profiles.watts_per_gpu)
        added_w = gpu_w + self._added_w[:, None, None]
        profile, kind, count, clock = np.nonzero(_undominated(profiles, added_w))
        first = np.searchsorted(profile, np.arange(len(profiles) + 1))
        way, job = _spread(first, jobs.profile[rows[at]])
        cell, row = (profile[way], kind[way], count[way], clock[way]), rows[at[job]]
        return WayColumns(
            at[job],
            kind[way],
            profiles.gpu_counts[count[way]].astype(np.int64),
            profiles.clocks_mhz[kind[way], clock[way]],
            self._work_left(row) / profiles.throughput[cell] / self.speed[row],
            gpu_w[cell],
        )

    def _plain(self, rows: I64, at: I64) -> WayColumns:
        """Of others: the GPUs they ask for, on any type, for the time they are said to run."""
        kinds = len(self.snapshot.gpu_types)
        job, kind = np.repeat(at, kinds), np.tile(np.arange(kinds), len(at))
        return WayColumns(
            job,
            kind,
            self.snapshot.jobs.min_gpus[rows[job]].astype(np.int64),
            np.zeros(len(job), np.int32),
            self._remaining_s(rows)[job],
            self.snapshot.gpu_types.max_w[kind],
        )

    def _remaining_s(self, rows: I64) -> F64:
        jobs = self.snapshot.jobs
        said_s = remaining_s(self.snapshot, self.default_run_s)[rows]
        ran_s = jobs.attained_gpu_s[rows] / np.maximum(jobs.min_gpus[rows], 1)
        return np.where(said_s > 0, said_s, np.maximum(OVERRUN * ran_s, LEAST_S))


def _undominated(profiles: ProfileTable, watts: F64) -> Bool:
    """Cells that no other of the same type beats: as fast on fewer GPUs for less energy."""
    rate = profiles.throughput
    known = rate > 0
    gpus = profiles.gpu_counts[None, None, :, None].astype(np.float64)
    energy = np.where(known, watts * gpus / np.where(known, rate, 1.0), np.inf)
    shape = rate.shape
    flat = (shape[0], shape[1], shape[2] * shape[3])
    speed, joules = rate.reshape(flat), energy.reshape(flat)
    count = np.broadcast_to(gpus, shape).reshape(flat)
    # a beats b where it is no worse in all three and better in one; of equals the first stays.
    no_worse = (
        (speed[..., :, None] >= speed[..., None, :])
        & (count[..., :, None] <= count[..., None, :])
        & (joules[..., :, None] <= joules[..., None, :])
    )
    index = np.arange(flat[2])
    earlier = index[:, None] < index[None, :]
    beaten = (no_worse & (~no_worse.swapaxes(-1, -2) | earlier)).any(axis=-2)
    return np.asarray(known & ~beaten.reshape(shape), np.bool_)


def _added_watts(snapshot: Snapshot, *, empty_nodes_off: bool) -> F64:
    """Per GPU type: what a GPU in use adds besides its own watts, less what it draws anyway."""
    nodes, types = snapshot.nodes, snapshot.gpu_types
    host_w = host_watts_per_gpu(snapshot)
    if empty_nodes_off:
        host_w = host_w + nodes.host_idle_w / np.maximum(nodes.gpus, 1)
    count = np.bincount(nodes.gpu_type, minlength=len(types))
    mean_w = np.bincount(nodes.gpu_type, host_w, minlength=len(types)) / np.maximum(count, 1)
    return np.asarray(mean_w - (0.0 if empty_nodes_off else types.idle_w), np.float64)


def _spread(first: I64, chosen: I32) -> tuple[I64, I64]:
    """Members of the chosen ragged rows one after the other, and which choice each belongs to."""
    length = first[chosen + 1] - first[chosen]
    owner = np.repeat(np.arange(len(chosen)), length)
    before = np.cumsum(length) - length
    return first[chosen][owner] + np.arange(len(owner)) - before[owner], owner
