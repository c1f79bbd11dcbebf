"""Simulations and forecasts for operators: to read, and to cancel."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from jobs.admin.states import STATE_COLOURS
from rest.admin import HistoryAdmin, ReadOnlyInline
from tenancy.staff import StaffActs, caller_of
from whatif import services
from whatif.models import Forecast, ForecastJob, Simulation, SimulationRun


class RunInline(ReadOnlyInline):
    model = SimulationRun
    fields = ("number", "label", "seed", "state", "jobs_done", "jobs_total", "error")
    ordering = ("number",)


@admin.register(Simulation)
class SimulationAdmin(StaffActs, HistoryAdmin):
    list_display = ("id", "name", "tenant", "cluster", "kind", "shown_state", "created_at")
    list_filter = ("state", "kind", "tenant")
    search_fields = ("=id", "name__startswith")
    list_select_related = ("tenant", "cluster")
    exclude = ("request", "snapshot", "results", "report")
    inlines = (RunInline,)
    actions = ("cancel",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Simulation]:
        rows: QuerySet[Simulation] = super().get_queryset(request)
        return rows.defer("request", "snapshot", "results", "report")

    @display(description="state", ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, simulation: Simulation) -> str:
        return simulation.state

    @admin.action(description="Cancel", permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Simulation]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Cancelled",
            lambda row: services.simulation_cancel(caller=caller, simulation_id=row.pk, now=now),
        )


@admin.register(Forecast)
class ForecastAdmin(HistoryAdmin):
    list_display = ("id", "cluster", "policy", "shown_state", "made_at", "error")
    list_filter = ("state", "cluster")
    list_select_related = ("cluster",)

    @display(description="state", ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, forecast: Forecast) -> str:
        return forecast.state


@admin.register(ForecastJob)
class ForecastJobAdmin(HistoryAdmin):
    list_display = ("id", "forecast", "job", "tenant", "start_at", "started_at", "error_s")
    list_filter = ("tenant",)
    search_fields = ("=job__id", "=forecast__id")
    list_select_related = ("forecast", "job", "tenant")
