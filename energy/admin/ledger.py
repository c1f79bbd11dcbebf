"""Meters, the ledger and logs in the admin, to read."""

from django.contrib import admin

from energy.models import LedgerRow, Meter
from rest.admin import HistoryAdmin
from rest.quantities import kwh, money


@admin.register(Meter)
class MeterAdmin(HistoryAdmin):
    list_display = (
        "attempt",
        "gpu",
        "tenant",
        "drawn",
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

    @admin.display(description="drawn")
    def drawn(self, meter: Meter) -> str:
        return kwh(meter.now_mj - meter.start_mj)


@admin.register(LedgerRow)
class LedgerRowAdmin(HistoryAdmin):
    list_display = (
        "id",
        "starts_at",
        "tenant",
        "attempt",
        "gpu",
        "gpus_drew",
        "hosts_drew",
        "price_per_kwh",
        "pue",
        "shown_cost",
        "carbon_g",
        "method",
        "coverage",
        "written_at",
    )
    list_filter = ("method", "cluster", "tenant")
    search_fields = ("=attempt__id", "=attempt__job__id", "=gpu__uuid")
    list_select_related = ("tenant", "attempt", "gpu")
    date_hierarchy = "starts_at"

    @admin.display(description="GPUs", ordering="gpu_mj")
    def gpus_drew(self, row: LedgerRow) -> str:
        return kwh(row.gpu_mj)

    @admin.display(description="hosts", ordering="host_mj")
    def hosts_drew(self, row: LedgerRow) -> str:
        return kwh(row.host_mj)

    @admin.display(description="cost", ordering="cost")
    def shown_cost(self, row: LedgerRow) -> str:
        return money(row.cost, row.currency)
