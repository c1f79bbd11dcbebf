"""Tariffs, carbon series and their hours in the admin."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.decorators import action
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from rest.admin import REFUSALS, ReadOnlyAdmin, ServiceForm, refusals_shown_on
from rest.admin.dialogs import close_dialog
from rest.problems import problem_from
from rest.structs import given, read
from tariffs import selectors, services
from tariffs.api.structs import TariffPatch, with_plain_periods
from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour
from tariffs.services import Imported, Mode
from tenancy.staff import StaffAdmin


class ImportHoursForm(BaseDialogForm):  # type: ignore[misc]
    csv = forms.CharField(
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 12}),
        help_text="A header line, then one line per hour, in order.",
    )
    mode = forms.ChoiceField(
        choices=[(Mode.EXTEND.value, "Extend"), (Mode.REPLACE.value, "Replace")],
        widget=UnfoldAdminSelectWidget,
    )


IMPORT_DIALOG = {
    "title": "Import hours",
    "description": "All or none: a missing hour or a daylight-saving jump refuses the whole text.",
    "form_class": ImportHoursForm,
    "form_submit_text": "Import",
}


class HourlyAdmin(StaffAdmin):
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
                    caller=self.caller(request),
                    csv=form.cleaned_data["csv"],
                    mode=Mode(form.cleaned_data["mode"]),
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

    @abstractmethod
    def perform_import(self, row: Any) -> Callable[..., Imported]:
        """The service that imports hours into this row."""


class TariffForm(ServiceForm):
    def clean_periods(self) -> list[dict[str, Any]]:
        """The same shape as in the API."""
        with refusals_shown_on(self):
            body = {"periods": self.cleaned_data["periods"] or []}
            return list(with_plain_periods(given(read(TariffPatch, body)))["periods"])
        return []


@admin.register(Tariff)
class TariffAdmin(HourlyAdmin):
    services = services.TARIFFS
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

    def perform_import(self, row: Tariff) -> Callable[..., Imported]:
        return lambda **given: services.tariff_import(tariff=row, **given)


@admin.register(CarbonSeries)
class CarbonSeriesAdmin(HourlyAdmin):
    services = services.CARBON_SERIES
    list_display = ("name", "covers_until", "updated_at")
    search_fields = ("name",)
    ordering = ("name",)
    fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CarbonSeries]:
        return selectors.carbon_series().order_by(*self.get_ordering(request))

    def perform_import(self, row: CarbonSeries) -> Callable[..., Imported]:
        return lambda **given: services.carbon_import(series=row, **given)


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
