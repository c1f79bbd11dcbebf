"""Cut a trace to a window, to its busiest partitions, and scale it to an offered load."""

import numpy as np

from policies.contract.columns import I64
from simulator.workload import Trace


def offered_gpu_s(trace: Trace) -> float:
    return float((trace.jobs.gpus * trace.jobs.work).sum())


def window(trace: Trace, from_s: float, to_s: float) -> Trace:
    """Jobs submitted in [from_s, to_s)."""
    at_s = trace.jobs.submitted_s
    jobs = trace.jobs.rows((at_s >= from_s) & (at_s < to_s))
    return Trace(jobs, trace.tenants, trace.partitions, trace.gpu_types)


def busiest_partitions(trace: Trace, count: int) -> Trace:
    """Only the jobs of the partitions that used most GPU time, which are numbered anew."""
    jobs = trace.jobs
    inside = jobs.partition >= 0
    used = np.bincount(jobs.partition[inside], (jobs.gpus * jobs.work)[inside])
    chosen = np.argsort(-used, kind="stable")[:count]
    row_of = np.full(len(trace.partitions) + 1, -1)
    row_of[chosen] = np.arange(len(chosen))
    kept = jobs.rows(row_of[jobs.partition] >= 0)
    names = tuple(trace.partitions[row] for row in chosen.tolist())
    return Trace(kept.but(partition=row_of[kept.partition]), trace.tenants, names, trace.gpu_types)


def at_load(
    trace: Trace, gpus: int, span_s: float, load: float, seed: int, *, most_shift_s: float = 1800.0
) -> Trace:
    """Draw jobs with replacement until they ask for `load` of `gpus` GPUs over `span_s`.

    So arrivals are thinned or repeated at random, and seeds differ as samples of one workload do.
    A repeated job arrives up to `most_shift_s` from its original, so that copies are not one gang.
    """
    random = np.random.default_rng([seed, 1])
    wanted_gpu_s = load * gpus * span_s
    gpu_s, count = trace.jobs.gpus * trace.jobs.work, len(trace.jobs)
    drawn: list[I64] = []
    while sum(gpu_s[rows].sum() for rows in drawn) < wanted_gpu_s:
        drawn.append(random.integers(count, size=count))
    rows = np.concatenate(drawn)
    enough = int(np.searchsorted(np.cumsum(gpu_s[rows]), wanted_gpu_s)) + 1
    rows = np.sort(rows[:enough])
    shift_s = random.uniform(-most_shift_s, most_shift_s, len(rows))
    shift_s[np.flatnonzero(np.diff(rows, prepend=-1))] = 0.0
    chosen = trace.jobs.rows(rows)
    low_s, high_s = trace.jobs.submitted_s[0], trace.jobs.submitted_s[-1]
    moved_s = np.clip(np.round(chosen.submitted_s + shift_s), low_s, high_s)
    return Trace(chosen.but(submitted_s=moved_s), trace.tenants, trace.partitions, trace.gpu_types)
