"""Profiles over HTTP."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from jobs import selectors, services
from jobs.api import examples, filters, serializers, structs
from jobs.models import Profile
from rest.views import (
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)


class ProfileViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """How a kind of job behaves: throughput and power per configuration, as measured."""

    resource = "profiles"
    rights = crud_rights("profiles")
    output = serializers.ProfileOut
    inputs = {"create": structs.ProfileCreate, "partial_update": structs.ProfilePatch}
    examples = examples.PROFILES
    filterset_class = filters.ProfileFilters
    etag_prefix = "profile"

    def rows(self) -> QuerySet[Profile]:
        return selectors.profiles(self.caller)

    def perform_create(self, values: Any) -> Profile:
        return services.profile_create(caller=self.caller, spec=values, now=timezone.now())

    def perform_update(self, row: Profile, changes: Any) -> Profile:
        return services.profile_update(
            caller=self.caller, profile=row, changes=changes, now=timezone.now()
        )

    def perform_destroy(self, row: Profile) -> None:
        services.profile_delete(caller=self.caller, profile=row)
