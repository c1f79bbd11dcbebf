"""Profiles in the admin."""

from django.contrib import admin
from django.utils import timezone

from clusters.admin.base import ServiceAdmin, Values
from jobs import services, structs
from jobs.models import Profile
from jobs.specs import ProfileChanges, ProfileSpec
from tenancy.callers import Caller


@admin.register(Profile)
class ProfileAdmin(ServiceAdmin):
    list_display = ("name", "tenant", "measured", "version", "updated_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("name", "tenant__name")
    ordering = ("tenant", "name")
    fields = ("tenant", "name")
    autocomplete_fields = ("tenant",)
    fixed_fields = ("tenant",)

    @admin.display(description="points")
    def measured(self, profile: Profile) -> int:
        return len(profile.points)

    def perform_create(self, caller: Caller, values: Values) -> Profile:
        spec = structs.read(ProfileSpec, dict(values))
        return services.profile_create(caller=caller, spec=spec, now=timezone.now())

    def perform_update(self, caller: Caller, row: Profile, changes: Values) -> Profile:
        return services.profile_update(
            caller=caller,
            profile=row,
            changes=structs.read(ProfileChanges, dict(changes)),
            now=timezone.now(),
        )

    def perform_delete(self, caller: Caller, row: Profile) -> None:
        services.profile_delete(caller=caller, profile=row)
