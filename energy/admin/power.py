"""What was measured against power budgets, and breaches, to read."""

from django.contrib import admin

from energy.admin.telemetry import ReadingAdmin
from energy.models import PowerBreach, PowerState


@admin.register(PowerState)
class PowerStateAdmin(ReadingAdmin):
    list_display = (
        "cluster",
        "partition",
        "budget_w",
        "measured_w",
        "measured_at",
        "unread_gpus",
        "correction_w",
        "energy_drawn_j",
        "energy_counted_at",
        "demand_peaks_w",
        "demand_counted_at",
    )
    list_filter = ("cluster",)
    list_select_related = ("cluster", "partition")


@admin.register(PowerBreach)
class PowerBreachAdmin(ReadingAdmin):
    list_display = ("id", "cluster", "partition", "budget_w", "worst_w", "began_at", "ended_at")
    list_filter = ("cluster",)
    list_select_related = ("cluster", "partition")
    date_hierarchy = "began_at"
