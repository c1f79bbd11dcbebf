"""What operators see first: watts against budget, the queue, the day's money, what is wrong."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

from django.db.models import Count, F, Max, QuerySet, Sum

from clusters.models import Cluster, Gpu, Node
from clusters.selectors import clusters
from console.kept import kept
from console.reads.machines import GPUS_IN_SIGHT, NodeCell, RackCell, nodes_in, racks, tenants_seen
from console.reads.waits import waits_by_reason
from energy.budgets.power import budgets_between
from energy.ledger.sums import totals
from energy.models import LedgerRow, PowerBreach, PowerState
from jobs.models import Job
from scheduling.models import Round
from tenancy.callers import SYSTEM

ALARMS_SHOWN = 20
DEAREST_SHOWN = 6
# How long each is kept; the ledger is written a few times an hour.
MAP_S, QUEUE_S, MONEY_S = 8.0, 8.0, 60.0
# A cluster whose last round is so many intervals old has a scheduler that stands still.
LATE_INTERVALS = 10
_ILL = (Node.State.LOST, Node.State.QUARANTINED)


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


@dataclass(frozen=True, slots=True)
class Alarm:
    kind: str
    text: str
    at: datetime | None = None
    node_id: int | None = None
    round_id: int | None = None


@kept(MAP_S)
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


@kept(QUEUE_S)
def queue_figures() -> dict[str, Any]:
    """How many jobs are in each live state, and what the queued ones wait for."""
    live = (Job.State.QUEUED, Job.State.PLACED, Job.State.RUNNING, Job.State.PREEMPTING)
    rows = Job.objects.filter(state__in=live).order_by().values_list("state")
    return {
        "states": dict(rows.annotate(count=Count("id"))),
        "reasons": waits_by_reason(SYSTEM, Cluster.objects.values_list("pk", flat=True)),
    }


@kept(MONEY_S)
def day_totals(*, now: datetime) -> list[dict[str, Any]]:
    """Money, energy and carbon of the windows that began today, by currency."""
    return totals(_today(now))


@kept(MONEY_S)
def dearest_today(*, now: datetime) -> list[dict[str, Any]]:
    """The jobs that cost most since midnight."""
    named = (
        _today(now)
        .order_by()
        .values(
            "currency",
            job_id=F("attempt__job_id"),
            job_name=F("attempt__job__name"),
            tenant_name=F("tenant__name"),
        )
    )
    dearest = named.annotate(total_cost=Sum("cost")).order_by("-total_cost")
    return [dict(row) for row in dearest[:DEAREST_SHOWN]]


def _today(now: datetime) -> QuerySet[LedgerRow]:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return LedgerRow.objects.filter(
        cluster__in=Cluster.objects.values("pk"), starts_at__gte=midnight, starts_at__lte=now
    )


@kept(QUEUE_S)
def alarms(*, now: datetime) -> list[Alarm]:
    return [
        *_ill_nodes(),
        *_faulty_gpus(),
        *_failed_rounds(now),
        *_late_rounds(now),
        *_breaches(),
    ][:ALARMS_SHOWN]


def _ill_nodes() -> list[Alarm]:
    rows = Node.objects.filter(state__in=_ILL).order_by("-updated_at")[:ALARMS_SHOWN]
    return [
        Alarm(f"node {row.state}", f"{row.name}: {row.state_reason or 'no reason given'}",
              row.last_sync_at, node_id=row.pk)
        for row in rows
    ]  # fmt: skip


def _faulty_gpus() -> list[Alarm]:
    rows = Gpu.objects.exclude(healthy=True, fault="").select_related("node").order_by("pk")
    return [
        Alarm("GPU degraded", f"{row.node.name} GPU {row.index}: "
              f"{row.fault or row.health_reason or 'unhealthy'}", node_id=row.node_id)
        for row in rows[:ALARMS_SHOWN]
    ]  # fmt: skip


def _failed_rounds(now: datetime) -> list[Alarm]:
    """Of the newest thousand, those that failed within the last hour."""
    newest = Round.objects.order_by("-pk").values("pk")[:1000]
    rows = Round.objects.filter(
        pk__in=newest, status=Round.Status.FAILED, started_at__gt=now - timedelta(hours=1)
    )
    found = rows.order_by("-pk").values_list("pk", "error", "started_at")[:5]
    return [Alarm("round failed", error[:300], at, round_id=pk) for pk, error, at in found]


def _late_rounds(now: datetime) -> list[Alarm]:
    rows = Cluster.objects.filter(next_round_at__lt=now).annotate(last_at=Max("round__started_at"))
    return [
        Alarm("rounds late", f"{row.name} has had no round for its interval times "
              f"{LATE_INTERVALS}.", row.last_at)
        for row in rows
        if row.next_round_at < now - LATE_INTERVALS * timedelta(seconds=row.round_interval_s)
    ]  # fmt: skip


def _breaches() -> list[Alarm]:
    rows = PowerBreach.objects.filter(ended_at=None).annotate(name=F("cluster__name"))
    return [
        Alarm("power budget broken", f"{row.name} drew up to {row.worst_w:.0f} W of "
              f"{row.budget_w:.0f} W.", row.began_at)
        for row in rows.order_by("-pk")[:5]
    ]  # fmt: skip
