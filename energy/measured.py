"""What a cluster draws, from its GPUs' counters; hosts are estimated, as in the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

# Readings of a minute that come later than that are not counted.
SETTLES = timedelta(minutes=5)
# Of one count: a budget that is given late in a month has weeks to catch up with.
CATCH_UP_MOST = timedelta(hours=1)

# A node's host draws its idle watts while the node is not off, and its span to the peak by the
# share of its GPUs that attempts hold. A GPU without readings counts as unread, not as zero.
_MEASURE = """
WITH read AS (
    SELECT sample.gpu_id,
           CASE WHEN max(boot_ms) > min(boot_ms)
                THEN (max(energy_mj) - min(energy_mj))::float8 / (max(boot_ms) - min(boot_ms))
                ELSE avg(power_mw) / 1000.0 END AS watts,
           avg((attempt_id IS NOT NULL)::int) AS held, count(*) AS samples
    FROM energy_sample sample
    JOIN clusters_gpu gpu ON gpu.id = sample.gpu_id
    JOIN clusters_node node ON node.id = gpu.node_id AND node.cluster_id = %(cluster)s
    WHERE at > %(from)s AND at <= %(until)s
    GROUP BY sample.gpu_id, sample.boot_id
), newest AS (
    SELECT DISTINCT ON (gpu_id) * FROM read ORDER BY gpu_id, samples DESC
)
SELECT node.partition_id,
       coalesce(sum(newest.watts), 0)
         + coalesce(sum(CASE WHEN node.state <> 'off' THEN
               node.host_idle_w::float8 / node_gpus.count
               + (node.host_peak_w - node.host_idle_w)::float8 / node_gpus.count
                 * coalesce(newest.held, 0) END), 0),
       count(*) FILTER (WHERE newest.gpu_id IS NULL AND node.state <> 'off')
FROM clusters_node node
JOIN clusters_gpu gpu ON gpu.node_id = node.id
JOIN (SELECT node_id, count(*) FROM clusters_gpu GROUP BY node_id) node_gpus
  ON node_gpus.node_id = node.id
LEFT JOIN newest ON newest.gpu_id = gpu.id
WHERE node.cluster_id = %(cluster)s
GROUP BY node.partition_id
"""


@dataclass(frozen=True, slots=True)
class MeasuredPower:
    watts: float = 0.0
    unread_gpus: int = 0

    def __add__(self, other: "MeasuredPower") -> "MeasuredPower":
        return MeasuredPower(self.watts + other.watts, self.unread_gpus + other.unread_gpus)


def measure(
    cluster_id: int, *, from_at: datetime, until_at: datetime
) -> dict[int | None, MeasuredPower]:
    """Mean watts by partition, and under None of the whole cluster."""
    values: dict[str, Any] = {"cluster": cluster_id, "from": from_at, "until": until_at}
    with connection.cursor() as cursor:
        cursor.execute(_MEASURE, values)
        rows = [(partition, MeasuredPower(watts, unread)) for partition, watts, unread in cursor]
    found: dict[int | None, MeasuredPower] = {
        partition: measured for partition, measured in rows if partition is not None
    }
    found[None] = sum((measured for _, measured in rows), MeasuredPower())
    return found


# A host counts in minutes in which its GPUs drew something, and by how long GPUs were held.
_MINUTES = """
WITH gpu AS (
    SELECT gpu.id, node.id AS node_id FROM clusters_gpu gpu
    JOIN clusters_node node ON node.id = gpu.node_id
    WHERE node.cluster_id = %(cluster)s
      AND (%(partition)s::int8 IS NULL OR node.partition_id = %(partition)s::int8)
), drawn AS (
    SELECT minute.minute_at, gpu.node_id, sum(minute.mean_mw) / 1000.0::float8 AS watts,
           count(DISTINCT gpu.id) AS read
    FROM energy_sampleminute minute JOIN gpu ON gpu.id = minute.gpu_id
    WHERE minute.minute_at >= %(from)s AND minute.minute_at < %(until)s
      AND (%(only)s::timestamptz[] IS NULL OR minute.minute_at = ANY(%(only)s))
    GROUP BY 1, 2
), minutes AS (
    SELECT DISTINCT minute_at FROM drawn
), held AS (
    SELECT minutes.minute_at, gpu.node_id, sum(extract(epoch FROM
               least(coalesce(held.released_at, 'infinity'), minute_at + interval '1 minute')
               - greatest(held.held_at, minute_at)))::float8 / 60 AS gpus
    FROM minutes
    JOIN jobs_allocation held ON held.held_at < minute_at + interval '1 minute'
                             AND (held.released_at IS NULL OR held.released_at > minute_at)
    JOIN gpu ON gpu.id = held.gpu_id
    GROUP BY 1, 2
), size AS (
    SELECT node_id, count(*) AS gpus FROM gpu GROUP BY node_id
)
SELECT drawn.minute_at,
       sum(drawn.watts + CASE WHEN drawn.watts > 0 THEN node.host_idle_w
           + (node.host_peak_w - node.host_idle_w) * coalesce(held.gpus, 0) / size.gpus
           ELSE 0 END)::float8,
       (SELECT count(*) FROM gpu) - sum(drawn.read)
FROM drawn
JOIN clusters_node node ON node.id = drawn.node_id
JOIN size ON size.node_id = drawn.node_id
LEFT JOIN held ON held.minute_at = drawn.minute_at AND held.node_id = drawn.node_id
GROUP BY drawn.minute_at ORDER BY drawn.minute_at
"""


def measured_minutes(
    cluster_id: int,
    *,
    partition_id: int | None,
    from_at: datetime,
    until_at: datetime,
    only: Sequence[datetime] | None = None,
) -> list[tuple[datetime, float, int]]:
    """(minute, mean watts, GPUs without readings), of the minutes that have any.

    `only` picks some of them, for a curve over a long time.
    """
    values: dict[str, Any] = {
        "cluster": cluster_id,
        "partition": partition_id,
        "from": from_at,
        "until": until_at,
        "only": None if only is None else list(only),
    }
    with connection.cursor() as cursor:
        cursor.execute(_MINUTES, values)
        return [(at, watts, int(unread)) for at, watts, unread in cursor]
