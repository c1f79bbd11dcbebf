"""How fast jobs run with the CPUs and memory that they have, and are likely to with others."""

from typing import NamedTuple

import numpy as np

from policies.bench.power import held_gpus
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.ways import relative_speed
from policies.contract.columns import F64, I32, I64, numbered
from policies.contract.snapshot import Blocked, JobState, NodeState, Snapshot


def sensitive(snapshot: Snapshot) -> bool:
    """Whether CPUs and memory are known to matter to any job at hand."""
    speed = snapshot.profiles.relative_speed
    if not speed.size:
        return False
    # The last entry is read by jobs without a profile.
    known = np.append((speed > 0).any(axis=(1, 2)), False)
    jobs = snapshot.jobs
    at_hand = (jobs.state != JobState.QUEUED) | (jobs.blocked == Blocked.NO)
    return bool(known[jobs.profile[at_hand]].any())


class Speeds(NamedTuple):
    """Of every job, relative to its profile's throughput; 1 where nothing is known.

    `likely` is what a job would have if it started now: its demand's while more CPUs and memory are
    left over than running jobs lack, its modest share's where not. `planned` is that, or the speed
    of the share that a job holds.
    """

    planned: F64
    likely: F64

    @classmethod
    def of(cls, snapshot: Snapshot, needs_table: NeedsTable) -> "Speeds":
        gpus = np.maximum(held_gpus(snapshot), 1)
        cpus, mem_mib = _held(snapshot)
        wants = _wants(snapshot, needs_table)
        nodes, running = snapshot.nodes, snapshot.jobs.state == JobState.RUNNING
        ready = nodes.state == NodeState.READY
        plenty = min(
            _plenty(nodes.free_cpus[ready], (wants.cpus * gpus - cpus)[running]),
            _plenty(nodes.free_mem_mib[ready], (wants.mem_mib * gpus - mem_mib)[running]),
        )
        likely = _known(wants.modest + plenty * (wants.demand - wants.modest))
        present = _known(_measured(snapshot, cpus / gpus, mem_mib / gpus))
        return cls(np.where(np.diff(snapshot.placements.offset) > 0, present, likely), likely)


class _Wants(NamedTuple):
    """Speeds with the modest share and with the demand, and what the demand is per GPU."""

    modest: F64
    demand: F64
    cpus: F64
    mem_mib: F64


def _known(speed: F64) -> F64:
    return np.where(speed > 0, speed, 1.0)


def _plenty(free: I32 | I64, lacking: F64) -> float:
    """The part of what is left over that running jobs do not lack."""
    left, missing = float(free.sum()), float(np.maximum(lacking, 0.0).sum())
    return max(1.0 - missing / left, 0.0) if left > 0 else float(missing <= 0)


def _held(snapshot: Snapshot) -> tuple[F64, F64]:
    """CPUs and MiB of every job."""
    pieces, count = snapshot.placements, len(snapshot.jobs)
    owner = pieces.job_of_piece()
    cpus = np.bincount(owner, pieces.cpus, minlength=count)
    mem_mib = np.bincount(owner, pieces.mem_mib, minlength=count)
    return np.asarray(cpus, np.float64), np.asarray(mem_mib, np.float64)


def _measured(snapshot: Snapshot, cpus: F64, mem_mib: F64) -> F64:
    """0 where nothing is known."""
    profile = snapshot.jobs.profile
    speed = relative_speed(snapshot, np.arange(len(profile)), cpus, mem_mib)
    return np.where(profile >= 0, np.nan_to_num(speed), 0.0)


def _wants(snapshot: Snapshot, needs_table: NeedsTable) -> _Wants:
    jobs = snapshot.jobs
    columns = (
        jobs.profile,
        jobs.min_gpus,
        jobs.partition,
        jobs.gpu_types,
        jobs.cpus_per_gpu,
        jobs.mem_mib_per_gpu,
    )
    first, kind = numbered(*columns)
    kinds = zip(*(column[first].tolist() for column in columns), strict=True)
    found = [needs_table.of(one) for one in kinds]
    values = [
        (one.speed(one.modest), one.speed(one.demand), one.demand.cpus, one.demand.mem_mib)
        for one in found
    ]
    return _Wants._make(np.array(values, np.float64).reshape(-1, 4).T[:, kind])
