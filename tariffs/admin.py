"""Tariffs, carbon series and their hours in the admin."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.decorators import action

from clusters.admin.base import ServiceAdmin, Values
from clusters.admin.dialogs import ImportHoursForm, close_dialog
from clusters.admin.forms import REFUSALS, ServiceForm, refusals_shown_on
from rest.problems import problem_from
from rest.serializers import validated
from tariffs import selectors, services
from tariffs.api.serializers import TariffPatch
from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour
from tenancy.admin import ReadOnlyAdmin, caller_of
from tenancy.callers import Caller

IMPORT_DIALOG = {
    "title": "Import hours",
    "description": "All or none: a missing hour or a daylight-saving jump refuses the whole text.",
    "form_class": ImportHoursForm,
    "form_submit_text": "Import",
}


class HourlyAdmin(ServiceAdmin):
    """Rows that hours hang on."""

    actions_detail = ("import_hours",)

    @admin.display(description="covers until", ordering="covers_until_at")
    def covers_until(self, row: Any) -> Any:
        return row.covers_until_at

    @action(description="Import hours", permissions=["change"], icon="upload", dialog=IMPORT_DIALOG)  # type: ignore[untyped-decorator]
    def import_hours(
        self, request: HttpRequest, form: ImportHoursForm, object_id: int
    ) -> HttpResponse:
        row = self.model._default_manager.get(pk=object_id)
        try:
            with transaction.atomic():
                imported = self.perform_import(row)(
                    caller=caller_of(request),
                    csv=form.cleaned_data["csv"],
                    mode=services.Mode(form.cleaned_data["mode"]),
                    now=timezone.now(),
                )
        except REFUSALS as error:
            problem = problem_from(error)
            lines = [f"{fault.pointer}: {fault.detail}" for fault in problem.errors]
            for line in lines or [problem.text]:
                self.message_user(request, line, messages.ERROR)
        else:
            text = f"{imported.hours} hours imported; covered until {imported.covers_until_at}."
            self.message_user(request, text, messages.SUCCESS)
        return close_dialog(f"admin:tariffs_{self.model._meta.model_name}_change", object_id)

    def perform_import(self, row: Any) -> Callable[..., services.Imported]:
        raise NotImplementedError


class TariffForm(ServiceForm):
    def clean_periods(self) -> list[dict[str, Any]]:
        """The same shape as in the API."""
        with refusals_shown_on(self):
            body = {"periods": self.cleaned_data["periods"] or []}
            return list(validated(TariffPatch, body)["periods"])
        return []


@admin.register(Tariff)
class TariffAdmin(HourlyAdmin):
    form = TariffForm
    list_display = ("name", "kind", "currency", "price_per_kwh", "timezone", "covers_until")
    list_filter = ("kind", "currency")
    search_fields = ("name",)
    ordering = ("name",)
    fields = (
        "name",
        "kind",
        "currency",
        "price_per_kwh",
        "timezone",
        "periods",
        "demand_charge_per_kw",
    )
    fixed_fields = ("kind",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tariff]:
        return selectors.tariffs().order_by(*self.get_ordering(request))

    def perform_import(self, row: Tariff) -> Callable[..., services.Imported]:
        return lambda **given: services.tariff_import(tariff=row, **given)

    def perform_create(self, caller: Caller, values: Values) -> Tariff:
        return services.tariff_create(caller=caller, values=values)

    def perform_update(self, caller: Caller, row: Tariff, changes: Values) -> Tariff:
        now = timezone.now()
        return services.tariff_update(caller=caller, tariff=row, changes=changes, now=now)

    def perform_delete(self, caller: Caller, row: Tariff) -> None:
        services.tariff_delete(caller=caller, tariff=row)


@admin.register(CarbonSeries)
class CarbonSeriesAdmin(HourlyAdmin):
    list_display = ("name", "covers_until", "updated_at")
    search_fields = ("name",)
    ordering = ("name",)
    fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CarbonSeries]:
        return selectors.carbon_series().order_by(*self.get_ordering(request))

    def perform_import(self, row: CarbonSeries) -> Callable[..., services.Imported]:
        return lambda **given: services.carbon_import(series=row, **given)

    def perform_create(self, caller: Caller, values: Values) -> CarbonSeries:
        return services.carbon_series_create(caller=caller, **values)

    def perform_update(self, caller: Caller, row: CarbonSeries, changes: Values) -> CarbonSeries:
        now = timezone.now()
        return services.carbon_series_update(caller=caller, series=row, changes=changes, now=now)

    def perform_delete(self, caller: Caller, row: CarbonSeries) -> None:
        services.carbon_series_delete(caller=caller, series=row)


@admin.register(TariffHour)
class TariffHourAdmin(ReadOnlyAdmin):
    list_display = ("starts_at", "tariff", "price_per_kwh")
    list_filter = ("tariff",)
    list_select_related = ("tariff",)
    date_hierarchy = "starts_at"
    ordering = ("-starts_at", "tariff")
    show_full_result_count = False


@admin.register(CarbonHour)
class CarbonHourAdmin(ReadOnlyAdmin):
    list_display = ("starts_at", "series", "g_per_kwh")
    list_filter = ("series",)
    list_select_related = ("series",)
    date_hierarchy = "starts_at"
    ordering = ("-starts_at", "series")
    show_full_result_count = False
