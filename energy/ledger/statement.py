"""What a tenant owes for the windows that begin between two moments, job by job."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from energy.ledger.sums import SUMS, ledger, totals
from energy.models import LedgerRow
from tenancy.callers import Caller
from tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class Statement:
    tenant: str
    from_at: datetime
    until_at: datetime
    totals: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    next: str | None


def statement(
    caller: Caller,
    tenant: Tenant,
    *,
    from_at: datetime,
    until_at: datetime,
    after: int,
    limit: int,
) -> Statement:
    """Statements of neighbouring times share no row, and leave none out."""
    rows = rows_between(caller, tenant, from_at, until_at)
    found = list(lines(rows.filter(attempt__job_id__gt=after))[: limit + 1])
    page = found[:limit]
    if len(found) > limit and page[-1]["job_id"] == found[limit]["job_id"] != page[0]["job_id"]:
        # A job's lines in two currencies stay together.
        page = [line for line in page if line["job_id"] != found[limit]["job_id"]]
    return Statement(
        tenant=tenant.name,
        from_at=from_at,
        until_at=until_at,
        totals=totals(rows),
        lines=page,
        next=str(page[-1]["job_id"]) if len(found) > limit else None,
    )


def rows_between(
    caller: Caller, tenant: Tenant, from_at: datetime, until_at: datetime
) -> QuerySet[LedgerRow]:
    between = {"starts_at__gte": from_at, "starts_at__lt": until_at}
    return ledger(caller).filter(tenant=tenant.pk, **between)


def lines(rows: QuerySet[LedgerRow]) -> QuerySet[LedgerRow, Any]:
    return (
        rows.order_by("attempt__job_id", "currency")
        .values(
            "currency",
            job_id=F("attempt__job_id"),
            name=F("attempt__job__name"),
            cluster_name=F("cluster__name"),
        )
        .annotate(**SUMS)
    )
