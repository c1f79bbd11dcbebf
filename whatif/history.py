"""What a cluster's jobs have taught of run times, estimates, and the way to a node and back."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from django.db.models import Max

from jobs.models import Attempt, Job
from simulator.live import Guess

LAST = 500
# Fewer than these teach nothing.
FEWEST = 20
# The way to a node and back is much the same for all jobs.
LAST_WAYS, FEWEST_WAYS = 100, 5
# Without a history: an hour, and a factor of e^0.5 either way, as is common of users' estimates.
UNTAUGHT = Guess(run_s=3600.0, spread=0.5)


def guess_of(cluster_id: int) -> Guess:
    ended = Job.objects.filter(
        cluster=cluster_id, state=Job.State.SUCCEEDED, attained_gpu_s__gt=0
    ).order_by("-id")
    start_s, end_s = latency_of(cluster_id)
    rows = list(ended.values_list("attained_gpu_s", "min_gpus", "estimated_run_s")[:LAST])
    if len(rows) < FEWEST:
        return replace(UNTAUGHT, start_s=start_s, end_s=end_s)
    ran_s = np.array([attained / gpus for attained, gpus, _ in rows])
    off = np.array(
        [np.log(ran / est_s) for ran, (_, _, est_s) in zip(ran_s, rows, strict=True) if est_s]
    )
    spread = float(off.std()) if len(off) >= FEWEST else UNTAUGHT.spread
    return Guess(run_s=float(np.median(ran_s)), spread=spread, start_s=start_s, end_s=end_s)


class Latency(NamedTuple):
    """Seconds from the round that places a job until it runs, and from its end until we know."""

    start_s: float = 0.0
    end_s: float = 0.0


def latency_of(cluster_id: int) -> Latency:
    """The medians of the last attempts that came to a good end; nothing without a history."""
    jobs = Job.objects.filter(cluster=cluster_id, state=Job.State.SUCCEEDED).order_by("-id")
    last = list(jobs.values_list("pk", flat=True)[:LAST_WAYS])
    attempts = Attempt.objects.filter(
        job__in=last, state=Attempt.State.ENDED, reason="exit_0", started_at__isnull=False
    ).annotate(over_at=Max("parts__ended_at"))
    ways = [
        (
            (attempt.started_at - attempt.offered_at).total_seconds(),
            (attempt.ended_at - attempt.over_at).total_seconds(),
        )
        for attempt in attempts
        if attempt.started_at and attempt.ended_at and attempt.over_at
    ]
    if len(ways) < FEWEST_WAYS:
        return Latency()
    start_s, end_s = np.median(np.maximum(ways, 0.0), axis=0).tolist()
    return Latency(start_s, end_s)
