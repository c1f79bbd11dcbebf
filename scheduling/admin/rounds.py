"""Rounds with milliseconds per step, and decisions, in the admin; the stored blobs stay out."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import display

from jobs.admin.states import STATE_COLOURS
from rest.admin import HistoryAdmin
from scheduling.models import Decision, Round


@admin.register(Round)
class RoundAdmin(HistoryAdmin):
    list_display = (
        "id",
        "cluster",
        "policy",
        "shown_status",
        "started_at",
        "load_step",
        "plan_step",
        "check_step",
        "apply_step",
        "queued",
        "running",
        "started",
        "preempted",
        "moved",
        "resized",
        "waiting",
        "stale",
        "shown_objective",
        "shown_gap",
    )
    list_filter = ("status", "cluster", "policy")
    search_fields = ("=id", "plan_digest", "snapshot_digest")
    list_select_related = ("cluster",)
    date_hierarchy = "started_at"
    exclude = ("snapshot", "plan")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Round]:
        rows: QuerySet[Round] = super().get_queryset(request)
        return rows.defer("snapshot", "plan")

    @display(description="status", ordering="status", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_status(self, entry: Round) -> str:
        return entry.status

    @admin.display(description="load ms", ordering="load_ms")
    def load_step(self, entry: Round) -> str:
        return f"{entry.load_ms:.1f}"

    @admin.display(description="plan ms", ordering="plan_ms")
    def plan_step(self, entry: Round) -> str:
        return f"{entry.plan_ms:.1f}"

    @admin.display(description="check ms", ordering="check_ms")
    def check_step(self, entry: Round) -> str:
        return f"{entry.check_ms:.1f}"

    @admin.display(description="apply ms", ordering="apply_ms")
    def apply_step(self, entry: Round) -> str:
        return f"{entry.apply_ms:.1f}"

    @admin.display(description="objective", ordering="objective", empty_value="")
    def shown_objective(self, entry: Round) -> str | None:
        return None if entry.objective is None else f"{entry.objective:.6g}"

    @admin.display(description="gap", ordering="gap", empty_value="")
    def shown_gap(self, entry: Round) -> str | None:
        return None if entry.gap is None else f"{entry.gap:.1%}"


@admin.register(Decision)
class DecisionAdmin(HistoryAdmin):
    list_display = ("id", "round_id", "job", "tenant", "action", "reason", "applied")
    list_filter = ("action", "reason", "applied")
    search_fields = ("=job__id", "=round__id")
    search_help_text = "Id of the job or of the round"
    list_select_related = ("job", "tenant")
    raw_id_fields = ("round",)
