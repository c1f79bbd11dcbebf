"""Attempts and events in the admin, to read."""

from django.contrib import admin
from unfold.decorators import display

from jobs.admin.states import STATE_COLOURS
from jobs.models import Allocation, Attempt, JobEvent, Part
from rest.admin import HistoryAdmin, ReadOnlyInline


class AllocationInline(ReadOnlyInline):
    model = Allocation
    fields = ("node", "gpu", "cpus", "memory_mib", "held_at", "released_at")


class PartInline(ReadOnlyInline):
    model = Part
    fields = ("node", "state", "end", "exit_code", "signal", "detail", "fetched_at", "ended_at")


@admin.register(Attempt)
class AttemptAdmin(HistoryAdmin):
    list_display = (
        "id",
        "job",
        "number",
        "tenant",
        "cluster",
        "shown_state",
        "reason",
        "gpus",
        "clock_mhz",
        "offered_at",
        "started_at",
        "ended_at",
    )
    list_filter = ("state", "cluster", "tenant")
    search_fields = ("=id", "=job__id", "=fence")
    list_select_related = ("job", "tenant", "cluster")
    date_hierarchy = "offered_at"
    inlines = (AllocationInline, PartInline)

    @display(description="state", ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, attempt: Attempt) -> str:
        return attempt.state


@admin.register(JobEvent)
class JobEventAdmin(HistoryAdmin):
    list_display = ("id", "at", "job", "tenant", "from_state", "to_state", "reason")
    list_filter = ("to_state", "tenant")
    search_fields = ("=job__id", "=reason")
    list_select_related = ("job", "tenant")
