"""Meters, the ledger and logs in the admin, to read."""

from django.contrib import admin

from energy.models import LedgerRow, Meter
from rest.admin import HistoryAdmin


@admin.register(Meter)
class MeterAdmin(HistoryAdmin):
    list_display = (
        "attempt",
        "gpu",
        "tenant",
        "drawn_mj",
        "integrated",
        "final",
        "since_at",
        "until_at",
        "settled_at",
        "due_at",
    )
    list_filter = ("final", "integrated", "tenant")
    search_fields = ("=attempt__id", "=attempt__job__id", "=gpu__uuid")
    list_select_related = ("attempt", "gpu", "tenant")

    @admin.display(description="mJ")
    def drawn_mj(self, meter: Meter) -> int:
        return meter.now_mj - meter.start_mj


@admin.register(LedgerRow)
class LedgerRowAdmin(HistoryAdmin):
    list_display = (
        "id",
        "starts_at",
        "tenant",
        "attempt",
        "gpu",
        "gpu_mj",
        "host_mj",
        "price_per_kwh",
        "pue",
        "cost",
        "currency",
        "carbon_g",
        "method",
        "coverage",
        "written_at",
    )
    list_filter = ("method", "cluster", "tenant")
    search_fields = ("=attempt__id", "=attempt__job__id", "=gpu__uuid")
    list_select_related = ("tenant", "attempt", "gpu")
    date_hierarchy = "starts_at"
