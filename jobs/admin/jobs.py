"""Jobs and arrays in the admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from jobs import services
from jobs.admin.states import STATE_COLOURS
from jobs.models import Attempt, Job, JobArray, JobDependency, JobEvent
from rest.admin import HistoryAdmin, ReadOnlyInline
from tenancy.staff import StaffActs, caller_of


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = ("number", "state", "reason", "gpus", "offered_at", "started_at", "ended_at")
    ordering = ("-number",)
    show_change_link = True


class DependencyInline(ReadOnlyInline):
    model = JobDependency
    fk_name = "job"
    fields = ("on_job", "kind", "met_at")
    verbose_name_plural = "depends on"


class EventInline(ReadOnlyInline):
    model = JobEvent
    fields = ("at", "from_state", "to_state", "reason", "detail")
    ordering = ("-id",)


class JobAdmin(StaffActs, HistoryAdmin):
    """Without the values of `env`, where tenants keep secrets.

    Registered by scheduling/admin/jobs.py, which knows why jobs wait and what they cost.
    """

    list_display_links = ("id", "name")
    list_filter = ("state", "held", "cluster", "tenant", "span", "preemptible")
    search_fields = ("=id", "name__startswith", "=array__id")
    search_help_text = "Id, beginning of the name, or id of the array"
    list_select_related = ("tenant", "cluster")
    date_hierarchy = "submitted_at"
    exclude = ("sealed_env",)
    inlines = (AttemptInline, DependencyInline, EventInline)
    actions = ("cancel", "hold", "release")

    @display(description="state", ordering="state", label=STATE_COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, job: Job) -> str:
        return job.state

    @admin.display(description="GPUs", ordering="max_gpus")
    def gpus(self, job: Job) -> str:
        fixed = job.min_gpus == job.max_gpus
        return str(job.max_gpus) if fixed else f"{job.min_gpus} to {job.max_gpus}"

    @admin.action(description="Cancel", permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Cancelled or asked to stop",
            lambda job: services.job_cancel(caller=caller, job_id=job.pk, now=now),
        )

    @admin.action(description="Hold: keep from starting", permissions=["act"])
    def hold(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        caller = caller_of(request)
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Held",
            lambda job: services.job_hold(caller=caller, job_id=job.pk),
        )

    @admin.action(description="Release", permissions=["act"])
    def release(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        caller = caller_of(request)
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Released",
            lambda job: services.job_release(caller=caller, job_id=job.pk),
        )


@admin.register(JobArray)
class JobArrayAdmin(StaffActs, HistoryAdmin):
    list_display = ("id", "name", "tenant", "size", "created_at")
    list_display_links = ("id", "name")
    list_filter = ("tenant",)
    search_fields = ("=id", "name__startswith")
    list_select_related = ("tenant",)
    actions = ("cancel",)

    @admin.action(description="Cancel all jobs that have not ended", permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[JobArray]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request,
            queryset.order_by("pk"),
            "Cancelled",
            lambda array: services.array_cancel(caller=caller, array=array, now=now),
        )
