"""Clusters as operators see them first: their map, and their watts against the budget."""

from dataclasses import dataclass
from datetime import datetime
from math import inf

from clusters.models import Cluster
from clusters.selectors import clusters
from console.reads.machines import GPUS_IN_SIGHT, NodeCell, RackCell, nodes_in, racks, tenants_seen
from energy.budgets.power import budgets_between
from energy.models import PowerState


@dataclass(frozen=True, slots=True)
class ClusterView:
    cluster: Cluster
    gpus: int
    held: int
    measured_w: float | None
    measured_at: datetime | None
    budget_w: float | None
    racks: list[RackCell]
    # None where there are too many to show each.
    nodes: list[NodeCell] | None

    @property
    def tenants(self) -> list[tuple[str, int]]:
        return tenants_seen(self.nodes or [])

    @property
    def over_budget(self) -> bool:
        return bool(self.budget_w and self.measured_w and self.measured_w > self.budget_w)


def cluster_views(colour: str, *, now: datetime) -> list[ClusterView]:
    cells: dict[int, list[RackCell]] = {}
    for cell in racks(now=now):
        cells.setdefault(cell.cluster_id, []).append(cell)
    states = {row.cluster_id: row for row in PowerState.objects.filter(partition=None)}
    return [
        _view(cluster, cells.get(cluster.pk, []), states.get(cluster.pk), colour, now)
        for cluster in clusters().order_by("name")
    ]


def _view(
    cluster: Cluster, cells: list[RackCell], state: PowerState | None, colour: str, now: datetime
) -> ClusterView:
    gpus = sum(cell.gpus for cell in cells)
    budget_w = budgets_between(cluster, from_at=now, until_at=now).cluster_w
    return ClusterView(
        cluster=cluster,
        gpus=gpus,
        held=sum(cell.held for cell in cells),
        measured_w=state.measured_w if state else None,
        measured_at=state.measured_at if state else None,
        budget_w=None if budget_w == inf else budget_w,
        racks=cells,
        nodes=nodes_in(cluster.pk, None, now=now, colour=colour) if gpus <= GPUS_IN_SIGHT else None,
    )
