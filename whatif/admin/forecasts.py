"""Forecasts for operators, to read."""

from django.contrib import admin
from unfold.decorators import display

from jobs.admin.states import STATE_COLOURS
from rest.admin import HistoryAdmin
from whatif.models import Forecast, ForecastJob


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
