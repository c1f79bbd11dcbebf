"""How fast jobs run with the CPUs and memory that they have, and are likely to with others."""

from typing import NamedTuple

import numpy as np

from policies.columns import F64, numbered
from policies.power import held_gpus
from policies.shares.table import Appetites
from policies.snapshot import JobState, Snapshot


def sensitive(snapshot: Snapshot) -> bool:
    """Whether CPUs and memory are known to matter to any job at hand."""
    speed = snapshot.profiles.relative_speed
    if not speed.size:
        return False
    # The last entry is read by jobs without a profile.
    known = np.append((speed > 0).any(axis=(1, 2)), False)
    return bool(known[snapshot.jobs.profile].any())


class Speeds(NamedTuple):
    """Of every job, relative to its profile's throughput; 1 where nothing is known.

    `present` is that of the share a job holds. `likely` is what it would have if it started now:
    between its modest share's speed and its demand's, as far as running jobs got on average. It is
    the same for alike jobs, running or not: were a queued one always promised its demand, it would
    take the place of a running one that does not get its own, and lose it again the same way.
    """

    present: F64
    likely: F64

    @classmethod
    def even(cls, snapshot: Snapshot) -> "Speeds":
        return cls(np.ones(len(snapshot.jobs)), np.ones(len(snapshot.jobs)))

    @classmethod
    def of(cls, snapshot: Snapshot, appetites: Appetites) -> "Speeds":
        present = _present(snapshot)
        modest, demand = _wanted(snapshot, appetites)
        running = snapshot.jobs.state == JobState.RUNNING
        gpus = held_gpus(snapshot)[running]
        wanted = float((gpus * (demand - modest)[running]).sum())
        got = np.clip(present - modest, 0.0, demand - modest)[running]
        share = float((gpus * got).sum()) / wanted if wanted > 0 else 1.0
        return cls(_known(present), _known(modest + share * (demand - modest)))


def _known(speed: F64) -> F64:
    return np.where(speed > 0, speed, 1.0)


def _present(snapshot: Snapshot) -> F64:
    """At the largest measured CPUs and memory per GPU that a job has."""
    jobs, pieces, table = snapshot.jobs, snapshot.placements, snapshot.profiles
    owner, count = pieces.job_of_piece(), len(jobs)
    gpus = np.maximum(held_gpus(snapshot), 1)
    cpus = np.bincount(owner, pieces.cpus, minlength=count) / gpus
    mem_mib = np.bincount(owner, pieces.mem_mib, minlength=count) / gpus
    at_cpus = np.searchsorted(table.cpus_per_gpu, cpus, side="right") - 1
    at_mem = np.searchsorted(table.mem_mib_per_gpu, mem_mib, side="right") - 1
    speed = table.relative_speed[jobs.profile, at_cpus.clip(min=0), at_mem.clip(min=0)]
    return np.where(jobs.profile >= 0, np.nan_to_num(speed), 0.0)


def _wanted(snapshot: Snapshot, appetites: Appetites) -> tuple[F64, F64]:
    """With the modest share, and with the demand."""
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
    found = [appetites.of(one) for one in kinds]
    modest = np.array([one.speed(one.modest) for one in found], np.float64)
    demand = np.array([one.speed(one.demand) for one in found], np.float64)
    return modest[kind], demand[kind]
