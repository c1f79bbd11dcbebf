"""What tenants owe for a month, by job and by label, what was idle, and what budgets are left."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, Sum
from django.db.models.fields.json import KeyTextTransform

from clusters.selectors import clusters
from energy.budgets.energy import EnergyLeft, energy_left
from energy.ledger.statement import Statement, rows_between, statement
from energy.ledger.sums import MJ_PER_KWH, SUMS, ledger
from tenancy.callers import Caller
from tenancy.models import Tenant

LINES = 100
LABELS_SHOWN = 50
_LABEL = "label"


@dataclass(frozen=True, slots=True)
class Month:
    starts_at: datetime
    ends_at: datetime

    @property
    def name(self) -> str:
        return f"{self.starts_at:%Y-%m}"


def month_named(text: str, *, now: datetime) -> Month:
    """`2026-11`; this month, where it says no month."""
    try:
        start = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if not 2000 <= start.year < 2200:
        start = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return Month(start, _following(start))


def previous(month: Month) -> Month:
    year, number = divmod(month.starts_at.year * 12 + month.starts_at.month - 2, 12)
    start = month.starts_at.replace(year=year, month=number + 1)
    return Month(start, month.starts_at)


def _following(start: datetime) -> datetime:
    year, number = divmod(start.year * 12 + start.month, 12)
    return start.replace(year=year, month=number + 1)


def month_by_tenant(caller: Caller, month: Month) -> list[dict[str, Any]]:
    """One line per tenant and currency that the caller may see."""
    rows = ledger(caller).filter(
        cluster__in=clusters().values("pk"),
        starts_at__gte=month.starts_at,
        starts_at__lt=month.ends_at,
    )
    named = rows.order_by("tenant__name", "currency").values(
        "currency", "tenant_id", tenant_name=F("tenant__name")
    )
    return [dict(row) for row in named.annotate(**SUMS)]


def month_statement(caller: Caller, tenant: Tenant, month: Month, after: int) -> Statement:
    span = {"from_at": month.starts_at, "until_at": month.ends_at}
    return statement(caller, tenant, **span, after=after, limit=LINES)


def month_by_label(caller: Caller, tenant: Tenant, month: Month, label: str) -> list[Any]:
    """By the values of one label, the dearest first; None is of jobs without it."""
    rows = rows_between(caller, tenant, month.starts_at, month.ends_at)
    valued = rows.annotate(label=KeyTextTransform(label, "attempt__job__labels"))
    grouped = valued.order_by().values(_LABEL, "currency")
    sums = grouped.annotate(
        total_cost=Sum("cost"), total_kwh=Sum(F("gpu_mj") + F("host_mj")) / MJ_PER_KWH
    )
    return list(sums.order_by("-total_cost", _LABEL)[:LABELS_SHOWN])


def energy_budgets(*, now: datetime) -> list[tuple[str, EnergyLeft]]:
    """Of the clusters that have one."""
    rows = clusters().exclude(energy_budget_wh=None).order_by("name")
    found = ((row.name, energy_left(row, now=now)) for row in rows)
    return [(name, left) for name, left in found if left is not None]
