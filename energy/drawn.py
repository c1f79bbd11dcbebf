"""What nodes draw just now, by the newest reading of each of their GPUs."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

# A reading older than this says nothing of now.
FRESH = timedelta(minutes=2)

# The newest reading of a GPU is the last of its key's index. A host counts as in
# energy/measured.py, and not at all where none of its GPUs is read.
_NODES = """
SELECT node.id, node.cluster_id, count(*), min(node.gpus_in_use),
       (sum(reading.power_mw) / 1000.0 + CASE WHEN node.state <> 'off' THEN node.host_idle_w
           + (node.host_peak_w - node.host_idle_w) * min(node.gpus_in_use)::float8 / count(*)
           ELSE 0 END)::float8
FROM clusters_node node
JOIN clusters_gpu gpu ON gpu.node_id = node.id
LEFT JOIN LATERAL (
    SELECT power_mw FROM (
        SELECT power_mw, at FROM energy_sample sample WHERE sample.gpu_id = gpu.id
        ORDER BY boot_id DESC, sequence DESC LIMIT 1
    ) newest WHERE at > %(since)s
) reading ON true
WHERE %(nodes)s::int8[] IS NULL OR node.id = ANY(%(nodes)s)
GROUP BY node.id
"""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """`watts` are None where nothing was read."""

    id: int
    cluster_id: int
    gpus: int
    in_use: int
    watts: float | None


def drawn_nodes(node_ids: Collection[int] | None = None, *, now: datetime) -> list[DrawnNode]:
    """Of these nodes, or of all, in one statement."""
    values = {"nodes": None if node_ids is None else list(node_ids), "since": now - FRESH}
    with connection.cursor() as cursor:
        cursor.execute(_NODES, values)
        return [DrawnNode(*row) for row in cursor]
