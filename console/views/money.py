"""Statements of a month, cost by label, budgets."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.pages import reads, show
from console.query import number
from console.reads.idle import idle_of_day
from console.reads.money import (
    energy_budgets,
    month_by_label,
    month_by_tenant,
    month_named,
    month_statement,
    previous,
)
from tenancy.callers import Caller
from tenancy.models import Tenant
from tenancy.selectors import tenants


@reads("statements.read")
def money(request: HttpRequest, caller: Caller) -> HttpResponse:
    now = timezone.now()
    month = month_named(request.GET.get("month", ""), now=now)
    tenant = _tenant(caller, number(request, "tenant"))
    context: dict[str, Any] = {
        "month": month,
        "previous": previous(month),
        "by_tenant": month_by_tenant(caller, month),
        "budgets": energy_budgets(now=now) if caller.may("power.read") else [],
        "idle": idle_of_day(now=now) if caller.may("power.read") else [],
        "tenant": tenant,
        "label": request.GET.get("label", "")[:63],
    }
    if tenant is not None:
        after = number(request, "after") or 0
        context["statement"] = month_statement(caller, tenant, month, after)
        if context["label"]:
            context["by_label"] = month_by_label(caller, tenant, month, context["label"])
    return show(request, caller, "money.html", context)


def _tenant(caller: Caller, wanted: int | None) -> Tenant | None:
    """The one that was asked for, else one's own."""
    chosen = caller.tenant_id if wanted is None else wanted
    return None if chosen is None else get_object_or_404(tenants(caller), pk=chosen)
