"""The map of the GPUs: by rack, by node, by GPU; each is one statement however many there are."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

# A reading older than this says nothing of now.
FRESH = timedelta(minutes=2)
# Above so many GPUs a cluster is shown by rack, and a rack's nodes on a page of their own.
GPUS_IN_SIGHT = 512
COLOURS = ("utilisation", "tenant", "watts", "temperature")
TENANT_COLOURS = 8
# Temperatures are coloured in fifths between these.
COOL_C, WARM_C = 30, 80
NODES_SHOWN = 256

# The newest reading of each GPU is the last of its key's index.
READING = """
LEFT JOIN LATERAL (
    SELECT power_mw, utilisation_pct, temperature_c, clock_mhz FROM (
        SELECT * FROM energy_sample sample WHERE sample.gpu_id = gpu.id
        ORDER BY boot_id DESC, sequence DESC LIMIT 1
    ) newest WHERE at > %(since)s
) reading ON true
"""
_RACKS = f"""
SELECT node.cluster_id, coalesce(node.rack_id, 0), coalesce(rack.name, 'no rack'),
       count(DISTINCT node.id), count(gpu.id),
       count(held.id), count(*) FILTER (WHERE NOT gpu.healthy OR gpu.fault <> ''),
       count(DISTINCT node.id) FILTER (WHERE node.state <> 'ready'),
       coalesce(sum(reading.power_mw), 0) / 1000.0, avg(reading.utilisation_pct)::float8,
       max(reading.temperature_c)
FROM clusters_node node
LEFT JOIN clusters_rack rack ON rack.id = node.rack_id
JOIN clusters_gpu gpu ON gpu.node_id = node.id
LEFT JOIN jobs_allocation held ON held.gpu_id = gpu.id AND held.released_at IS NULL
{READING}
GROUP BY 1, 2, 3 ORDER BY 1, length(coalesce(rack.name, 'no rack')), 3
"""  # noqa: S608  # composed of constants of this file
_GPUS = f"""
SELECT node.id, node.name, node.state, node.state_reason, coalesce(rack.name, 'no rack'),
       node.cluster_id, type.name, type.max_w, gpu.id, gpu.index, gpu.healthy,
       concat_ws(', ', nullif(gpu.health_reason, ''), nullif(gpu.fault, ''),
                 nullif(gpu.remark, '')),
       attempt.job_id, job.name, tenant.name, tenant.id,
       reading.power_mw / 1000.0, reading.utilisation_pct, reading.temperature_c,
       reading.clock_mhz
FROM clusters_node node
JOIN clusters_gputype type ON type.id = node.gpu_type_id
LEFT JOIN clusters_rack rack ON rack.id = node.rack_id
JOIN clusters_gpu gpu ON gpu.node_id = node.id
LEFT JOIN jobs_allocation held ON held.gpu_id = gpu.id AND held.released_at IS NULL
LEFT JOIN jobs_attempt attempt ON attempt.id = held.attempt_id
LEFT JOIN jobs_job job ON job.id = attempt.job_id
LEFT JOIN tenancy_tenant tenant ON tenant.id = job.tenant_id
{READING}
WHERE node.id = ANY(%(nodes)s)
ORDER BY length(coalesce(rack.name, 'no rack')), 5, length(node.name), node.name, gpu.index
"""  # noqa: S608
_NODES = """
SELECT id FROM clusters_node
WHERE cluster_id = %(cluster)s AND (%(rack)s::int8 IS NULL OR coalesce(rack_id, 0) = %(rack)s::int8)
ORDER BY id LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class RackCell:
    """Watts are those of the GPUs alone, as last read."""

    cluster_id: int
    rack_id: int
    name: str
    nodes: int
    gpus: int
    held: int
    faulty: int
    not_ready: int
    watts: float
    utilisation_pct: float | None
    hottest_c: int | None

    @property
    def tenth_held(self) -> int:
        return round(10 * self.held / self.gpus) if self.gpus else 0


@dataclass(frozen=True, slots=True)
class GpuCell:
    id: int
    index: int
    healthy: bool
    remark: str
    job_id: int | None
    job_name: str | None
    tenant: str | None
    tenant_id: int | None
    watts: float | None
    utilisation_pct: int | None
    temperature_c: int | None
    clock_mhz: int | None

    def shade(self, by: str, max_w: int) -> str:
        """The class of its square: faulty, free, or a fifth of what it is coloured by."""
        if not self.healthy or self.remark:
            return "faulty"
        if by == "temperature":
            warm = self.temperature_c
            return "free" if warm is None else f"heat-{_fifth(warm - COOL_C, WARM_C - COOL_C)}"
        if self.job_id is None:
            return "free"
        if by == "tenant":
            return f"who-{(self.tenant_id or 0) % TENANT_COLOURS}"
        if by == "watts":
            return f"busy-{_fifth(self.watts or 0, max_w)}"
        return f"busy-{_fifth(self.utilisation_pct or 0, 100)}"


def _fifth(value: float, most: float) -> int:
    return max(0, min(4, int(5 * value / most)))


@dataclass(slots=True)
class NodeCell:
    colour: str
    id: int
    name: str
    state: str
    state_reason: str
    rack: str
    cluster_id: int
    gpu_type: str
    max_w: int
    gpus: list[GpuCell] = field(default_factory=list)

    @property
    def squares(self) -> list[tuple[GpuCell, str]]:
        return [(gpu, gpu.shade(self.colour, self.max_w)) for gpu in self.gpus]

    @property
    def condition(self) -> str:
        """The class of its tile: ill is nobody's wish, away is somebody's."""
        if self.state in {"lost", "quarantined"}:
            return "ill"
        return "" if self.state == "ready" else "away"

    @property
    def held(self) -> int:
        return sum(gpu.job_id is not None for gpu in self.gpus)

    @property
    def watts(self) -> float:
        return sum(gpu.watts or 0.0 for gpu in self.gpus)

    @property
    def hottest_c(self) -> int | None:
        return max(
            (g.temperature_c for g in self.gpus if g.temperature_c is not None), default=None
        )


def racks(*, now: datetime) -> list[RackCell]:
    """Every rack of every cluster; nodes without one are together under id 0."""
    return [RackCell(*row) for row in _rows(_RACKS, {"since": now - FRESH})]


def nodes_in(
    cluster_id: int, rack_id: int | None, *, now: datetime, colour: str = COLOURS[0]
) -> list[NodeCell]:
    """The first nodes of a rack, or of a whole cluster, each with its GPUs."""
    values = {"cluster": cluster_id, "rack": rack_id, "most": NODES_SHOWN}
    return node_cells([pk for (pk,) in _rows(_NODES, values)], now=now, colour=colour)


def tenants_seen(nodes: list[NodeCell]) -> list[tuple[str, int]]:
    """Who holds GPUs there, and the number of their colour."""
    held = {gpu.tenant: gpu.tenant_id or 0 for node in nodes for gpu in node.gpus if gpu.tenant}
    return sorted((name, pk % TENANT_COLOURS) for name, pk in held.items())


def node_cells(node_ids: list[int], *, now: datetime, colour: str = COLOURS[0]) -> list[NodeCell]:
    found: dict[int, NodeCell] = {}
    for row in _rows(_GPUS, {"nodes": node_ids, "since": now - FRESH}):
        cell = found.setdefault(row[0], NodeCell(colour, *row[:8]))
        cell.gpus.append(GpuCell(*row[8:]))
    return list(found.values())


def _rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor)
