"""The site in a few figures, in as many statements however large it is: what runs, what waits,
what it draws and costs, and what is wrong."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, QuerySet, Value

from clusters.models import Cluster, Gpu, Node
from clusters.selectors import clusters
from energy.budgets.power import budgets_in_force
from energy.drawn import DrawnNode, drawn_nodes
from energy.ledger.sums import ledger, totals
from energy.models import LedgerRow, PowerBreach
from jobs.models import Job
from scheduling.models import Round
from scheduling.waits import waits_by_reason
from tenancy.callers import Caller

ALARMS_SHOWN = 20
# A cluster whose last round is so many intervals old has a scheduler that stands still.
LATE_INTERVALS = 10
_ILL = (Node.State.LOST, Node.State.QUARANTINED)


@dataclass(frozen=True, slots=True)
class ClusterFigures:
    """Watts are None where nothing was read, and the budget where there is none."""

    cluster: Cluster
    gpus: int
    in_use: int
    watts: float | None
    budget_w: float | None

    @property
    def budget_share(self) -> float | None:
        if self.budget_w is None or self.watts is None:
            return None
        return self.watts / self.budget_w


@dataclass(frozen=True, slots=True)
class Alarm:
    kind: str
    text: str
    at: datetime | None = None
    node_id: int | None = None
    round_id: int | None = None


def cluster_figures(*, now: datetime) -> list[ClusterFigures]:
    shown = list(clusters().order_by("name"))
    limits = budgets_in_force(shown, at=now)
    drawn: dict[int, list[DrawnNode]] = {cluster.pk: [] for cluster in shown}
    for node in drawn_nodes(now=now):
        drawn[node.cluster_id].append(node)
    return [_figures(row, drawn[row.pk], limits[row.pk].cluster_w) for row in shown]


def _figures(cluster: Cluster, nodes: list[DrawnNode], budget_w: float) -> ClusterFigures:
    read = [node.watts for node in nodes if node.watts is not None]
    return ClusterFigures(
        cluster=cluster,
        gpus=sum(node.gpus for node in nodes),
        in_use=sum(node.in_use for node in nodes),
        watts=sum(read) if read else None,
        budget_w=None if budget_w == inf else budget_w,
    )


def queue_figures(caller: Caller) -> dict[str, Any]:
    """How many jobs are in each live state, and what the queued ones wait for."""
    live = (Job.State.QUEUED, Job.State.PLACED, Job.State.RUNNING, Job.State.PREEMPTING)
    rows = Job.objects.filter(state__in=live).order_by().values_list("state")
    return {
        "states": dict(rows.annotate(count=Count("id"))),
        "reasons": waits_by_reason(caller, Cluster.objects.values_list("pk", flat=True)),
    }


def day_totals(caller: Caller, *, now: datetime) -> list[dict[str, Any]]:
    """Money, energy and carbon of today, by currency."""
    return totals(ledger_today(caller, now=now))


def ledger_today(caller: Caller, *, now: datetime) -> QuerySet[LedgerRow]:
    """The windows that have begun since midnight, UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return ledger(caller).filter(
        cluster__in=Cluster.objects.values("pk"), starts_at__gte=midnight, starts_at__lte=now
    )


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
    patience = ExpressionWrapper(
        F("round_interval_s") * Value(LATE_INTERVALS * timedelta(seconds=1)),
        output_field=DurationField(),
    )
    rows = Cluster.objects.filter(next_round_at__lt=now - patience).order_by("name")
    return [
        Alarm("rounds late", f"{row.name} has had no round for {LATE_INTERVALS} times its "
              f"interval.", row.next_round_at)
        for row in rows[:ALARMS_SHOWN]
    ]  # fmt: skip


def _breaches() -> list[Alarm]:
    rows = PowerBreach.objects.filter(ended_at=None).annotate(name=F("cluster__name"))
    return [
        Alarm("power budget broken", f"{row.name} drew up to {row.worst_w:.0f} W of "
              f"{row.budget_w:.0f} W.", row.began_at)
        for row in rows.order_by("-pk")[:5]
    ]  # fmt: skip
