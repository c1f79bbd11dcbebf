"""What a cluster's jobs have taught of run times: how long, and how far off estimates are."""

import numpy as np

from jobs.models import Job
from simulator.live import Guess

LAST = 500
# Fewer than these teach nothing.
FEWEST = 20
# Without a history: an hour, and a factor of e^0.5 either way, as is common of users' estimates.
UNTAUGHT = Guess(run_s=3600.0, spread=0.5)


def guess_of(cluster_id: int) -> Guess:
    ended = Job.objects.filter(
        cluster=cluster_id, state=Job.State.SUCCEEDED, attained_gpu_s__gt=0
    ).order_by("-id")
    rows = list(ended.values_list("attained_gpu_s", "min_gpus", "estimated_run_s")[:LAST])
    if len(rows) < FEWEST:
        return UNTAUGHT
    ran_s = np.array([attained / gpus for attained, gpus, _ in rows])
    off = np.array(
        [np.log(ran / est_s) for ran, (_, _, est_s) in zip(ran_s, rows, strict=True) if est_s]
    )
    spread = float(off.std()) if len(off) >= FEWEST else UNTAUGHT.spread
    return Guess(run_s=float(np.median(ran_s)), spread=spread)
