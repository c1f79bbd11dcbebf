"""Simulations for operators: to ask for, to read, and to cancel."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.decorators import action, display

from jobs.admin.states import STATE_COLOURS
from rest.admin import REFUSALS, HistoryAdmin, ReadOnlyInline
from rest.admin.dialogs import close_dialog
from rest.problems import problem_from
from tenancy.staff import StaffActs, caller_of
from whatif import services
from whatif.admin.simulation_form import SimulationForm
from whatif.api.simulations import PAGE_HEADERS
from whatif.models import Simulation, SimulationRun
from whatif.results import conclusion_of


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
    actions_list = ("ask",)
    readonly_fields = ("conclusion",)
    actions_detail = ("report",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Simulation]:
        rows: QuerySet[Simulation] = super().get_queryset(request)
        return rows.defer("request", "snapshot", "results", "report")

    @display(description="state", ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, simulation: Simulation) -> str:
        return simulation.state

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        columns: list[str] = super().get_fields(request, obj)
        return ["conclusion", *(name for name in columns if name != "conclusion")]

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.said = conclusion_of(row.results) if row.results else "There are no results yet."
        return row

    @admin.display(description="conclusion")
    def conclusion(self, simulation: Any) -> str:
        return str(simulation.said)

    @action(  # type: ignore[untyped-decorator]
        description="New simulation",
        permissions=["act"],
        icon="add",
        dialog={
            "title": "New simulation",
            "description": "The same jobs under each policy, in a world of their own.",
            "form_class": SimulationForm,
            "form_submit_text": "Simulate",
        },
    )
    def ask(self, request: HttpRequest, form: SimulationForm) -> HttpResponse:
        values, now = form.cleaned_data["asked"], timezone.now()
        try:
            made = services.simulation_create(caller=caller_of(request), values=values, now=now)
        except REFUSALS as error:
            self.message_user(request, problem_from(error).text, messages.ERROR)
            return close_dialog("admin:whatif_simulation_changelist")
        return close_dialog("admin:whatif_simulation_change", made.pk)

    @action(description="Report", permissions=["view"], icon="bar_chart")  # type: ignore[untyped-decorator]
    def report(self, request: HttpRequest, object_id: int) -> HttpResponse:
        row = Simulation.objects.get(pk=object_id)
        if row.report is None:
            self.message_user(request, f"{row} is {row.state} and has no report.", messages.ERROR)
            return redirect("admin:whatif_simulation_change", object_id)
        return HttpResponse(bytes(row.report), headers=PAGE_HEADERS)

    @admin.action(description="Cancel", permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Simulation]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Cancelled",
            lambda row: services.simulation_cancel(caller=caller, simulation_id=row.pk, now=now),
        )
