"""A tenant's own figures: jobs, quota and share, budget, tokens, members."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum

from clusters.selectors import clusters
from console.reads.jobs import newest_jobs
from console.reads.money import month_named
from energy.ledger.statement import rows_between
from energy.ledger.sums import totals
from jobs.models import GpuQuota, Job
from jobs.selectors import gpu_quotas, jobs
from scheduling.waits import waits_by_reason
from tenancy import rls
from tenancy.callers import Caller
from tenancy.models import ApiToken, Membership, Tenant
from tenancy.selectors import memberships, tenants, tokens

SHOWN = 100
JOBS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TenantView:
    tenant: Tenant
    states: dict[str, int]
    reasons: list[tuple[str, int]]
    newest: list[Job]
    quotas: list[GpuQuota]
    month: list[dict[str, Any]]
    members: list[Membership]
    # None for those who may not read tokens.
    tokens: list[ApiToken] | None
    # Of the weights of all tenants that are not suspended.
    share: float | None

    @property
    def budget_kwh(self) -> float | None:
        budget_wh = self.tenant.energy_budget_wh
        return None if budget_wh is None else budget_wh / 1000


def tenant_page(caller: Caller, *, before: int | None) -> QuerySet[Tenant]:
    rows = tenants(caller).order_by("pk")
    return rows if before is None else rows.filter(pk__gt=before)


def tenant_view(caller: Caller, tenant: Tenant, *, now: datetime) -> TenantView:
    own = jobs(caller).filter(tenant=tenant.pk).order_by().values_list("state")
    month = month_named("", now=now)
    return TenantView(
        tenant=tenant,
        states=dict(own.annotate(count=Count("id"))),
        reasons=waits_by_reason(caller, clusters().values_list("pk", flat=True))
        if caller.tenant_id is not None
        else [],
        newest=newest_jobs(caller, state=None, tenant_id=tenant.pk, before=None).rows[:JOBS_SHOWN],
        quotas=list(gpu_quotas(caller).filter(tenant=tenant.pk).order_by("gpu_type__name")[:SHOWN]),
        month=totals(rows_between(caller, tenant, month.starts_at, now)),
        members=list(
            memberships(caller).filter(tenant=tenant.pk).order_by("user__username")[:SHOWN]
        ),
        tokens=_tokens(caller, tenant),
        share=_share(tenant),
    )


def _tokens(caller: Caller, tenant: Tenant) -> list[ApiToken] | None:
    if not caller.may("tokens.read"):
        return None
    return list(tokens(caller).filter(tenant=tenant.pk, revoked_at=None).order_by("-pk")[:SHOWN])


def _share(tenant: Tenant) -> float | None:
    """A sum over all tenants says nothing of any one of them, so that each may know it."""
    with rls.scope(rls.ALL):
        weights = Tenant.objects.filter(suspended=False).aggregate(sum=Sum("weight"))["sum"]
    return float(tenant.weight / weights) if weights and not tenant.suspended else None
