"""Watts of the hours ahead: what runs until it should end, and the queue as it was forecast."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from clusters.models import Cluster
from console.reads.machines import FRESH, READING
from whatif.models import Forecast, ForecastJob, WorkState

# What is drawn whether anything runs or not; without PUE, as watts are measured.
_IDLE = """
SELECT coalesce(sum(type.idle_w + node.host_idle_w::float8 / node_gpus.count), 0), count(*)
FROM clusters_node node
JOIN clusters_gputype type ON type.id = node.gpu_type_id
JOIN clusters_gpu gpu ON gpu.node_id = node.id
JOIN (SELECT node_id, count(*) FROM clusters_gpu GROUP BY node_id) node_gpus
  ON node_gpus.node_id = node.id
WHERE node.cluster_id = %(cluster)s AND node.state NOT IN ('off', 'lost')
"""
# Above that, by attempt; one without an estimate is taken to run on.
_RUNNING = f"""
SELECT extract(epoch FROM attempt.started_at)::float8 + job.estimated_run_s,
       sum(greatest(reading.power_mw / 1000.0 - type.idle_w, 0)
           + (node.host_peak_w - node.host_idle_w)::float8 / node_gpus.count)::float8
FROM jobs_allocation held
JOIN jobs_attempt attempt ON attempt.id = held.attempt_id
JOIN jobs_job job ON job.id = attempt.job_id
JOIN clusters_gpu gpu ON gpu.id = held.gpu_id
JOIN clusters_node node ON node.id = held.node_id
JOIN clusters_gputype type ON type.id = node.gpu_type_id
JOIN (SELECT node_id, count(*) FROM clusters_gpu GROUP BY node_id) node_gpus
  ON node_gpus.node_id = node.id
{READING}
WHERE held.released_at IS NULL AND node.cluster_id = %(cluster)s
GROUP BY attempt.id, job.id
"""  # noqa: S608  # composed of constants


class Stretch(NamedTuple):
    """Seconds since the epoch; watts above what idles."""

    from_s: float
    until_s: float
    watts: float


def expected_watts(
    cluster: Cluster, times: Sequence[datetime], *, now: datetime
) -> list[float | None]:
    """None throughout where no forecast tells of the queue."""
    forecast = (
        Forecast.objects.filter(cluster=cluster, state=WorkState.SUCCEEDED).order_by("-pk").first()
    )
    if forecast is None:
        return [None] * len(times)
    values: dict[str, Any] = {"cluster": cluster.pk, "since": now - FRESH}
    with connection.cursor() as cursor:
        cursor.execute(_IDLE, values)
        idle_w, gpus = cursor.fetchone()
        cursor.execute(_RUNNING, values)
        running = [Stretch(-np.inf, end or np.inf, watts) for end, watts in cursor]
    found = [*running, *_queued(forecast, cluster, idle_w / gpus if gpus else 0.0)]
    seconds = np.array([at.timestamp() for at in times])
    return list((idle_w + _sum_at(found, seconds)).tolist())


def _queued(forecast: Forecast, cluster: Cluster, idle_w: float) -> list[Stretch]:
    """Mean watts of each; its GPUs idle anyway, and the forecast reckons with PUE."""
    rows = ForecastJob.objects.filter(
        forecast=forecast, start_at__isnull=False, finish_at__isnull=False, full_energy_j__gt=0
    ).values_list("start_at", "finish_at", "full_energy_j", "job__min_gpus")
    found = []
    for start, finish, joules, gpus in rows:
        if start is not None and finish is not None and start < finish:
            drawn_w = (joules or 0.0) / float(cluster.pue) / (finish - start).total_seconds()
            above_w = max(0.0, drawn_w - gpus * idle_w)
            found.append(Stretch(start.timestamp(), finish.timestamp(), above_w))
    return found


def _sum_at(found: Sequence[Stretch], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    if not found:
        return np.zeros(len(seconds))
    starts, ends, watts = (np.array(column) for column in zip(*found, strict=True))
    inside = (seconds[:, None] >= starts) & (seconds[:, None] < ends)
    return np.asarray(inside @ watts, np.float64)
