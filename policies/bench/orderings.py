"""Orderings: one number per job, lower goes first; ties go to the higher priority.

Of the same priority the earlier submitted goes first, of these the lower id.

A job may stop running jobs with a strictly higher number, so numbers that tie never preempt.
"""

from collections.abc import Callable, Sequence

import numpy as np

from policies.bench.power import held_gpus
from policies.bench.roster import in_turn
from policies.contract.columns import F64, I64
from policies.contract.snapshot import Blocked, JobState, Snapshot

QUEUE_GPU_S = (3_200.0, 32_000.0, 320_000.0)
"""Attained GPU-seconds at which a job sinks into the next queue, unless a policy is told others."""

Ordering = Callable[[Snapshot, F64], F64]
"""From the snapshot and every job's seconds still to run (inf when unknown) to its number."""


def fifo(snapshot: Snapshot, remaining_s: F64) -> F64:
    return snapshot.jobs.submitted_s


def earliest_deadline(snapshot: Snapshot, remaining_s: F64) -> F64:
    return snapshot.jobs.deadline_s


def shortest_remaining(snapshot: Snapshot, remaining_s: F64) -> F64:
    return remaining_s


def priority(ageing_s: float) -> Ordering:
    """Highest priority first; waiting `ageing_s` is worth one step.

    Running jobs age like waiting ones, so the order of two jobs never changes with time and no job
    is stopped for one that it would later stop in turn.
    """

    def order(snapshot: Snapshot, remaining_s: F64) -> F64:
        jobs = snapshot.jobs
        steps = (snapshot.now_s - jobs.submitted_s) / ageing_s if ageing_s else 0.0
        return np.asarray(-(jobs.priority + steps), np.float64)

    return order


def least_attained_service(queue_gpu_s: Sequence[float]) -> Ordering:
    """Tiresias: two-dimensional service (GPUs x time) in queues, each first come first served."""
    thresholds = np.asarray(queue_gpu_s, np.float64)

    def order(snapshot: Snapshot, remaining_s: F64) -> F64:
        queue = np.searchsorted(thresholds, snapshot.jobs.attained_gpu_s, side="right")
        return queue.astype(np.float64)

    return order


def least_share_of_life(snapshot: Snapshot, remaining_s: F64) -> F64:
    """Time slicing: who has run for the smallest part of its time here goes first.

    Who would lose more than half of its slice is not stopped: jobs that never save their work would
    take turns for ever.
    """
    jobs = snapshot.jobs
    ran_s = jobs.attained_gpu_s / np.maximum(jobs.min_gpus, 1)
    share = ran_s / np.maximum(snapshot.now_s - jobs.submitted_s, 1.0)
    saved = jobs.checkpoint_s - jobs.started_s >= (snapshot.now_s - jobs.started_s) / 2
    return np.where((jobs.state == JobState.RUNNING) & ~saved, -1.0, share)


def finish_time_fairness(snapshot: Snapshot, remaining_s: F64) -> F64:
    """The largest ratio of shared to isolated finish time first; unknown estimates go last.

    The isolated share is taken as the same for all jobs, so it cancels.
    """
    jobs = snapshot.jobs
    shared_s = snapshot.now_s - jobs.submitted_s + remaining_s
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = shared_s / jobs.est_total_s
    return np.where(np.isfinite(ratio), -ratio, np.inf)


def fair_share(snapshot: Snapshot, remaining_s: F64) -> F64:
    """Weighted max-min over tenants: a job's number is its tenant's GPUs per weight once it runs.

    Within a tenant running jobs count first, then queued ones in turn. A tenant below its
    share may stop a job of one above it only while it stays below after the exchange.
    """
    jobs, held = snapshot.jobs, held_gpus(snapshot)
    running = jobs.state == JobState.RUNNING
    candidate = (jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO)
    counted = np.flatnonzero(running | candidate)
    key = np.full(len(jobs), np.inf)
    counted = in_turn(snapshot, counted, ~running[counted], jobs.tenant[counted])
    gpus = np.where(running, held, jobs.min_gpus)[counted]
    tenant = jobs.tenant[counted]
    total = np.cumsum(gpus)
    first = np.flatnonzero(np.diff(tenant, prepend=-1))
    before = np.repeat(total[first] - gpus[first], np.diff(first, append=len(tenant)))
    key[counted] = (total - before) / snapshot.tenants.weight[tenant]
    return key


def ranked(snapshot: Snapshot, key: F64, rows: I64) -> I64:
    """`rows` in the order in which they are served."""
    return rows if len(rows) < 2 else in_turn(snapshot, rows, key[rows])
