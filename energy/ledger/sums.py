"""Sums over rows of the ledger, which are what is owed."""

from decimal import Decimal
from typing import Any

from django.db.models import F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from energy.models import LedgerRow
from tenancy.callers import Caller
from tenancy.selectors import visible

# Millijoules, as a decimal: whole numbers would be divided without a rest.
MJ_PER_KWH = Decimal(3_600_000_000)

SUMS: dict[str, Any] = {
    "total_gpu_mj": Sum("gpu_mj"),
    "total_host_mj": Sum("host_mj"),
    "total_kwh": Sum(F("gpu_mj") + F("host_mj")) / Value(MJ_PER_KWH),
    "total_cost": Sum("cost"),
    "total_carbon_g": Sum("carbon_g"),
    # Drawn in hours whose price nobody knows yet.
    "unpriced_mj": Coalesce(
        Sum(F("gpu_mj") + F("host_mj"), filter=Q(price_per_kwh__isnull=True)), 0
    ),
}


def ledger(caller: Caller) -> QuerySet[LedgerRow]:
    return visible(LedgerRow.objects.all(), caller)


def totals(rows: QuerySet[LedgerRow]) -> list[dict[str, Any]]:
    """By currency: a tenant may run in clusters that reckon in different ones."""
    found = rows.order_by("currency").values("currency").annotate(**SUMS)
    return [dict(row) for row in found]
