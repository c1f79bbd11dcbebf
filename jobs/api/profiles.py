"""Profiles over HTTP: what was measured, what was fitted to it, and what it predicts."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from jobs import selectors, services
from jobs.api import structs
from jobs.api.filters import NamedFilter
from jobs.models import Profile, ProfileFit, ProfilePoint, ProfilingRun
from jobs.profiling.predicting import prediction
from jobs.specs import PointsSpec, ProfilePatch, ProfileSpec, ProfilingSpec
from rest.etag import etag
from rest.filters import (
    BooleanFilter,
    ChoiceFilter,
    Filter,
    IntegerFilter,
    NumberFilter,
    TextFilter,
)
from rest.problems import NotFound
from rest.structs import show
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
    respond,
)
from tenancy.models import Tenant

CONFIGURATION: dict[str, Filter] = {
    "gpu_type": TextFilter(required=True, help_text="A name of /gpu-types/."),
    "gpus": IntegerFilter(help_text="1 unless given."),
    "clock": IntegerFilter(help_text="MHz; the highest unless given."),
    "cpus": NumberFilter(help_text="CPUs per GPU; as many as it can use unless given."),
    "memory": NumberFilter(help_text="MiB per GPU; as much as it can use unless given."),
}


class ProfileViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """How a kind of job behaves: speed and power per configuration, measured and fitted."""

    resource = "profiles"
    rights = crud_rights("profiles") | {"fit": "profiles.write", "predict": "profiles.read"}
    output = structs.ProfileOut
    outputs = {"fit": structs.FitOut, "predict": structs.PredictionOut}
    inputs = {"create": ProfileSpec, "partial_update": ProfilePatch}
    statuses = {"fit": 201}
    query_parameters = {"predict": CONFIGURATION}
    filters = {"tenant": NamedFilter(Tenant, "tenant"), "name": TextFilter()}
    etag_prefix = "profile"

    def rows(self) -> QuerySet[Profile]:
        return selectors.profiles(self.caller)

    def shown(self, row: Any) -> Any:
        return _shown(row if hasattr(row, "newest_fits") else self.rows().get(pk=row.pk))

    def perform_create(self, values: ProfileSpec) -> Profile:
        return services.profile_create(caller=self.caller, spec=values, now=timezone.now())

    def perform_update(self, row: Profile, changes: Mapping[str, Any]) -> Profile:
        services.profile_update(
            caller=self.caller, profile=row, changes=changes, now=timezone.now()
        )
        return self.rows().get(pk=row.pk)

    def perform_destroy(self, row: Profile) -> None:
        services.profile_delete(caller=self.caller, profile=row)

    @action(detail=True, methods=["post"])
    def fit(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Fit models to the profile's points: its next version."""

        def effect() -> Answer:
            fit = services.profile_fit(caller=self.caller, profile=self.row(), now=timezone.now())
            return Answer(show(structs.FitOut, fit), 201)

        return self.write(effect)

    @action(detail=True, methods=["get"])
    def predict(self, request: Request, **kwargs: Any) -> HttpResponse:
        """What a configuration would do: measured there, fitted, or neutral if nothing is known."""
        profile = self.row()
        found = prediction(profile, **self.query())
        return respond(Answer(show(structs.PredictionOut, found)))


def _shown(profile: Any) -> structs.ProfileOut:
    newest = profile.newest_fits
    return show(structs.ProfileOut, profile, fit=newest[0] if newest else None)


class OfProfile(ListMixin):
    """Rows that belong to the profile in the address."""

    def profile(self) -> Profile:
        rows = selectors.profiles(self.caller).filter(pk=int(self.kwargs["profile_id"]))
        found = rows.first()
        if found is None:
            raise NotFound
        return found


class ProfilePointViewSet(OfProfile):
    """The points of a profile: given, measured by profiling runs, and learned from attempts."""

    resource = "profile_points"
    rights = {"list": "profiles.read", "create": "profiles.write"}
    output = structs.MeasuredPointOut
    outputs = {"create": structs.ProfileOut}
    inputs = {"create": PointsSpec}
    statuses = {"create": 200}
    filters = {
        "gpu_type": TextFilter(),
        "source": ChoiceFilter(ProfilePoint.Source),
        "accepted": BooleanFilter(),
    }

    def rows(self) -> QuerySet[ProfilePoint]:
        return selectors.profile_points(self.caller, self.profile().pk)

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Add points; one of a configuration that you gave before replaces it."""
        spec: PointsSpec = self.input()

        def effect() -> Answer:
            profile = services.points_add(
                caller=self.caller, profile=self.profile(), spec=spec, now=timezone.now()
            )
            headers = {"ETag": etag("profile", profile)}
            return Answer(_shown(self.profile()), headers=headers)

        return self.write(effect)


class ProfileFitViewSet(OfProfile):
    """The versions of a profile: what was fitted to its points, and how well."""

    resource = "profile_fits"
    rights = {"list": "profiles.read"}
    output = structs.FitOut
    ordering_fields = ("id",)

    def rows(self) -> QuerySet[ProfileFit]:
        return selectors.profile_fits(self.caller, self.profile().pk)


class ProfilingRunViewSet(OfProfile):
    """Profiling runs: a few minutes on one GPU that measure how a program behaves."""

    resource = "profiling_runs"
    rights = {"list": "profiles.read", "create": "jobs.submit"}
    output = structs.ProfilingRunOut
    inputs = {"create": ProfilingSpec}
    filters = {"state": ChoiceFilter(ProfilingRun.State)}

    def rows(self) -> QuerySet[ProfilingRun]:
        return selectors.profiling_runs(self.caller, self.profile().pk)

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Measure the profile: run the program while its CPUs and clock are changed.

        It must run for about ten minutes and report its steps. One run of a profile at a time.
        """
        spec: ProfilingSpec = self.input()

        def effect() -> Answer:
            run = services.profiling_create(
                caller=self.caller, profile=self.profile(), spec=spec, now=timezone.now()
            )
            return Answer(self.shown(self.rows().get(pk=run.pk)), 201)

        return self.write(effect)
