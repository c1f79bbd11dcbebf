"""How fast jobs are likely to run with the CPUs and memory that they have or will get."""

import numpy as np

from policies.columns import F64, numbered
from policies.power import held_gpus
from policies.shares.table import Appetites
from policies.snapshot import Snapshot


def sensitive(snapshot: Snapshot) -> bool:
    """Whether CPUs and memory are known to matter to any job at hand."""
    speed = snapshot.profiles.relative_speed
    if not speed.size:
        return False
    # The last entry is read by jobs without a profile.
    known = np.append((speed > 0).any(axis=(1, 2)), False)
    return bool(known[snapshot.jobs.profile].any())


def likely_speeds(snapshot: Snapshot, appetites: Appetites) -> F64:
    """Of every job, relative to its profile's throughput; 1 where nothing is known.

    A job that holds GPUs has the speed of its present share. Another one is taken to get its
    demand: shares are made even every round, so that what it starts with is not what it keeps.
    """
    holds = np.diff(snapshot.placements.offset) > 0
    speed = np.where(holds, _present(snapshot), _demanded(snapshot, appetites))
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
    return np.where(jobs.profile >= 0, speed, 1.0)


def _demanded(snapshot: Snapshot, appetites: Appetites) -> F64:
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
    return np.array([appetites.of(one).points[0].speed for one in kinds], np.float64)[kind]
