"""Which power budget is in force: of a cluster's own and all its windows, the smallest.

Rounds plan with what is in force up to `LEAD` from now: clocks and restarts take seconds, and a
budget is kept from its first second. A breach is judged by what was in force the whole time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from math import inf
from zoneinfo import ZoneInfo

from django.db.models import Q

from clusters.models import Cluster
from energy.models import PowerBudget, PowerState

# A sync, a checkpoint and the next reading.
LEAD = timedelta(seconds=20)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class WattLimits:
    """Watts of the cluster, and of those partitions that have a bound; inf is none."""

    cluster_w: float = inf
    partition_w: dict[int, float] = field(default_factory=dict)

    def of(self, partition_id: int | None) -> float:
        return self.cluster_w if partition_id is None else self.partition_w.get(partition_id, inf)


def windows(cluster: Cluster, *, from_at: datetime, until_at: datetime) -> list[PowerBudget]:
    """Those that may be in force at some time of the span."""
    near = PowerBudget.objects.filter(cluster=cluster, starts_at__lt=until_at)
    return list(near.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=from_at)).order_by("pk"))


def budgets_in_force(clusters: Iterable[Cluster], *, at: datetime) -> dict[int, WattLimits]:
    """Of each cluster by its id, in one statement."""
    shown = list(clusters)
    rows = PowerBudget.objects.filter(cluster__in=shown, starts_at__lte=at)
    found: dict[int, list[PowerBudget]] = {cluster.pk: [] for cluster in shown}
    for row in rows.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=at)):
        if any(start <= at < end for start, end in spans(row, at, at)):
            found[row.cluster_id].append(row)
    return {
        cluster.pk: _smallest(float(cluster.power_budget_w or inf), found[cluster.pk])
        for cluster in shown
    }


def budgets_between(cluster: Cluster, *, from_at: datetime, until_at: datetime) -> WattLimits:
    """The smallest that are in force at some time of the span."""
    found = windows(cluster, from_at=from_at, until_at=until_at)
    own_w = float(cluster.power_budget_w or inf)
    return _smallest(own_w, (row for row in found if touches(row, from_at, until_at)))


def budgets_throughout(cluster: Cluster, *, from_at: datetime, until_at: datetime) -> WattLimits:
    """The smallest that are in force all through the span."""
    found = windows(cluster, from_at=from_at, until_at=until_at)
    # The cluster's own has no history: it may have been changed with the last update.
    known = cluster.updated_at <= from_at
    own_w = float(cluster.power_budget_w or inf) if known else inf
    return _smallest(own_w, (row for row in found if covers(row, from_at, until_at)))


def planned_budgets(cluster: Cluster, *, now: datetime) -> WattLimits:
    """What a round plans with: less what its model has been found to be wrong by."""
    budgets = budgets_between(cluster, from_at=now, until_at=now + LEAD)
    wrong = corrections_w(cluster)
    return WattLimits(
        budgets.cluster_w - wrong.get(None, 0.0),
        {pk: watts - wrong.get(pk, 0.0) for pk, watts in budgets.partition_w.items()},
    )


def corrections_w(cluster: Cluster) -> dict[int | None, float]:
    """What the model has been found to be wrong by, of the cluster (None) and its partitions."""
    found = PowerState.objects.filter(cluster=cluster, correction_w__gt=0)
    return dict(found.values_list("partition_id", "correction_w"))


def touches(row: PowerBudget, from_at: datetime, until_at: datetime) -> bool:
    return any(start < until_at and end > from_at for start, end in spans(row, from_at, until_at))


def covers(row: PowerBudget, from_at: datetime, until_at: datetime) -> bool:
    return any(start <= from_at and end >= until_at for start, end in spans(row, from_at, until_at))


def spans(row: PowerBudget, from_at: datetime, until_at: datetime) -> list[Span]:
    """When the budget is in force, about the given span."""
    whole = (row.starts_at, row.ends_at or datetime.max.replace(tzinfo=UTC))
    if row.from_minute is None or row.to_minute is None:
        return [whole]
    daily = _days(row.from_minute, row.to_minute, ZoneInfo(row.timezone), from_at, until_at)
    cut = ((max(start, whole[0]), min(end, whole[1])) for start, end in daily)
    return [(start, end) for start, end in cut if start < end]


def _days(
    from_minute: int, to_minute: int, zone: ZoneInfo, from_at: datetime, until_at: datetime
) -> Iterator[Span]:
    """By the wall clock, so that a day of 23 hours has its evening at the same time."""
    day = from_at.astimezone(zone).date() - timedelta(days=1)
    last = until_at.astimezone(zone).date()
    while day <= last:
        ends_on = day if from_minute < to_minute else day + timedelta(days=1)
        start = datetime.combine(day, _time(from_minute), zone)
        end = datetime.combine(ends_on, _time(to_minute), zone)
        yield start.astimezone(UTC), end.astimezone(UTC)
        day += timedelta(days=1)


def _time(minute: int) -> time:
    return time(*divmod(minute, 60))


def _smallest(own_w: float, rows: Iterable[PowerBudget]) -> WattLimits:
    cluster_w = own_w
    partition_w: dict[int, float] = {}
    for row in rows:
        if row.partition_id is None:
            cluster_w = min(cluster_w, row.watts)
        else:
            partition_w[row.partition_id] = min(row.watts, partition_w.get(row.partition_id, inf))
    return WattLimits(cluster_w, partition_w)
