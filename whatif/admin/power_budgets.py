"""Power budgets in the admin: ordered with what they are expected to do, and withdrawn."""

from datetime import datetime, time
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminSingleTimeWidget, UnfoldAdminSplitDateTimeWidget

from clusters.services.references import cluster_named
from energy.budgets.watch import request_round
from energy.models import PowerBudget
from energy.services.power_budgets import (
    power_budget_draft,
    power_budget_order,
    power_budget_withdraw,
)
from rest.admin import ServiceForm
from rest.quantities import watts
from rest.services import Values
from tenancy.callers import Caller
from tenancy.staff import StaffAdmin
from whatif.budget_response import estimate
from whatif.budget_words import budget_words


class PowerBudgetForm(ServiceForm):
    starts_at = forms.SplitDateTimeField(
        required=False,
        label="starts",
        widget=UnfoldAdminSplitDateTimeWidget,
        help_text="In UTC; now, if empty.",
    )
    from_minute = forms.TimeField(
        required=False,
        label="every day from",
        widget=UnfoldAdminSingleTimeWidget,
        help_text="In the time zone below; all day, if both are empty.",
    )
    to_minute = forms.TimeField(
        required=False, label="every day until", widget=UnfoldAdminSingleTimeWidget
    )

    def clean_starts_at(self) -> datetime:
        return self.cleaned_data["starts_at"] or timezone.now()

    def clean_from_minute(self) -> int | None:
        return _minute(self.cleaned_data["from_minute"])

    def clean_to_minute(self) -> int | None:
        return _minute(self.cleaned_data["to_minute"])


@admin.register(PowerBudget)
class PowerBudgetAdmin(StaffAdmin):
    """An order is not changed: it is withdrawn, and another one given."""

    form = PowerBudgetForm
    list_display = (
        *("id", "cluster", "partition", "shown_watts", "starts_at", "ends_at", "daily"),
        *("reason", "ordered_by"),
    )
    list_filter = ("cluster",)
    list_select_related = ("cluster", "partition")
    ordering = ("-id",)
    _asked = ("cluster", "partition", "watts", "starts_at", "ends_at")
    _daily = ("from_minute", "to_minute", "timezone")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return (*self._asked, *self._daily, "reason")
        return (*self._asked, "daily", "timezone", "reason", "ordered_by", "expected")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("daily", "expected") if obj else ()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def perform_create(self, caller: Caller, values: Values) -> PowerBudget:
        cluster = cluster_named(values["cluster"])
        asked = {name: value for name, value in values.items() if name != "cluster"}
        row = power_budget_draft(cluster=cluster, values=asked, now=timezone.now())
        return power_budget_order(caller=caller, row=row)

    def written(self, request: HttpRequest, made: PowerBudget) -> None:
        """Not part of the write, which the form has rehearsed: an estimate takes seconds."""
        now = timezone.now()
        made.estimate = found = estimate(made, now=now)
        made.save(update_fields=["estimate"])
        request_round(made.cluster_id, now)
        self.message_user(request, budget_words(found), messages.SUCCESS)

    def perform_delete(self, caller: Caller, row: PowerBudget) -> None:
        now = timezone.now()
        power_budget_withdraw(caller=caller, row=row, now=now)
        request_round(row.cluster_id, now)

    @admin.display(description="budget", ordering="watts")
    def shown_watts(self, row: PowerBudget) -> str:
        return watts(row.watts)

    @admin.display(description="every day")
    def daily(self, row: PowerBudget) -> str:
        if row.from_minute is None or row.to_minute is None:
            return "all day"
        return f"{_clock(row.from_minute)} to {_clock(row.to_minute)} {row.timezone}"

    @admin.display(description="expected")
    def expected(self, row: PowerBudget) -> str:
        return budget_words(row.estimate) if row.estimate else ""


def _minute(at: time | None) -> int | None:
    return None if at is None else at.hour * 60 + at.minute


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
