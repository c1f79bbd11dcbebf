"""Profiles in the admin: to edit, with what was measured and fitted to read."""

from typing import Any

from django.contrib import admin
from django.utils import timezone

from jobs import services
from jobs.models import Profile, ProfileFit, ProfilePoint, ProfilingRun
from jobs.specs import ProfilePatch, ProfileSpec
from rest.admin import HistoryAdmin
from rest.services import Values
from rest.structs import given, read
from tenancy.callers import Caller
from tenancy.staff import StaffAdmin

DATA = ("dataset_mib", "step_mib", "storage_mib_per_s")


@admin.register(Profile)
class ProfileAdmin(StaffAdmin):
    list_display = ("name", "tenant", "basis", "drift", "fit_refused", "version", "updated_at")
    list_filter = ("basis", "inline", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("name", "tenant__name")
    ordering = ("tenant", "name")
    fields = ("tenant", "name", *DATA)
    autocomplete_fields = ("tenant",)
    fixed_fields = ("tenant",)

    def perform_create(self, caller: Caller, values: Values) -> Profile:
        spec = read(ProfileSpec, dict(values))
        return services.profile_create(caller=caller, spec=spec, now=timezone.now())

    def perform_update(self, caller: Caller, row: Profile, changes: Values) -> Profile:
        return services.profile_update(
            caller=caller,
            profile=row,
            changes=given(read(ProfilePatch, dict(changes))),
            now=timezone.now(),
        )

    def perform_delete(self, caller: Caller, row: Profile) -> None:
        services.profile_delete(caller=caller, profile=row)


@admin.register(ProfilePoint)
class ProfilePointAdmin(HistoryAdmin):
    list_display = (
        *("profile", "source", "gpu_type", "gpus", "clock_mhz", "cpus_per_gpu"),
        *("memory_mib_per_gpu", "steps_per_s", "watts_per_gpu", "weight", "accepted"),
        *("attempt", "measured_at"),
    )
    list_filter = ("source", "accepted", "gpu_type", "tenant")
    search_fields = ("profile__name", "=attempt__id")
    list_select_related = ("profile", "attempt")


@admin.register(ProfileFit)
class ProfileFitAdmin(HistoryAdmin):
    list_display = (
        "profile",
        "number",
        "cause",
        "points",
        "mean_error",
        "worst_error",
        "made_at",
    )
    list_filter = ("cause", "tenant")
    search_fields = ("profile__name",)
    list_select_related = ("profile",)


@admin.register(ProfilingRun)
class ProfilingRunAdmin(HistoryAdmin):
    list_display = (
        *("id", "profile", "cluster", "job", "state", "configurations", "detail"),
        *("created_at", "began_at", "ended_at"),
    )
    list_filter = ("state", "cluster", "tenant")
    search_fields = ("profile__name", "=job__id")
    list_select_related = ("profile", "cluster", "job")

    @admin.display(description="measured")
    def configurations(self, run: Any) -> int:
        return len(run.measured)
