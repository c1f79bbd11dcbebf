"""Profiles over HTTP: what was measured, what was fitted to it, and what it predicts."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from jobs import selectors, services
from jobs.api import filters, profile_examples, structs
from jobs.api import profile_serializers as serializers
from jobs.models import Profile, ProfileFit, ProfilePoint, ProfilingRun
from jobs.profiling.predicting import prediction
from rest.filters import Filter, IntegerFilter, NumberFilter, TextFilter
from rest.problems import NotFound
from rest.serializers import represented
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
    output = serializers.ProfileOut
    outputs = {"fit": serializers.FitOut, "predict": serializers.PredictionOut}
    inputs = {"create": structs.ProfileCreate, "partial_update": structs.ProfilePatch}
    statuses = {"fit": 201}
    query_parameters = {"predict": CONFIGURATION}
    examples = profile_examples.PROFILES
    filterset_class = filters.ProfileFilters
    etag_prefix = "profile"

    def rows(self) -> QuerySet[Profile]:
        return selectors.profiles(self.caller)

    def shown(self, row: Any) -> Any:
        if isinstance(row, Profile):
            row = self.rows().get(pk=row.pk) if not hasattr(row, "newest_fits") else row
            row.fit = row.newest_fits[0] if row.newest_fits else None
        return super().shown(row)

    def perform_create(self, values: Any) -> Profile:
        return services.profile_create(caller=self.caller, spec=values, now=timezone.now())

    def perform_update(self, row: Profile, changes: Any) -> Profile:
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
            return Answer(represented(serializers.FitOut, fit), 201)

        return self.write(effect)

    @action(detail=True, methods=["get"])
    def predict(self, request: Request, **kwargs: Any) -> HttpResponse:
        """What a configuration would do: measured there, fitted, or neutral if nothing is known."""
        profile = self.row()
        found = prediction(profile, **self.query())
        return respond(Answer(represented(serializers.PredictionOut, found)))


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
    output = serializers.MeasuredPointOut
    outputs = {"create": serializers.ProfileOut}
    inputs = {"create": structs.PointsAdd}
    statuses = {"create": 200}
    examples = profile_examples.POINTS
    filterset_class = filters.PointFilters

    def rows(self) -> QuerySet[ProfilePoint]:
        return selectors.profile_points(self.caller, self.profile().pk)

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Add points; one of a configuration that you gave before replaces it."""
        spec: Any = self.input()

        def effect() -> Answer:
            profile = services.points_add(
                caller=self.caller, profile=self.profile(), spec=spec, now=timezone.now()
            )
            row: Any = self.profile()
            row.fit = row.newest_fits[0] if row.newest_fits else None
            headers = {"ETag": f'"profile{profile.pk}-{profile.version}"'}
            return Answer(represented(serializers.ProfileOut, row), headers=headers)

        return self.write(effect)


class ProfileFitViewSet(OfProfile):
    """The versions of a profile: what was fitted to its points, and how well."""

    resource = "profile_fits"
    rights = {"list": "profiles.read"}
    output = serializers.FitOut
    examples = profile_examples.FITS
    ordering_fields = ("id",)

    def rows(self) -> QuerySet[ProfileFit]:
        return selectors.profile_fits(self.caller, self.profile().pk)


class ProfilingRunViewSet(OfProfile):
    """Profiling runs: a few minutes on one GPU that measure how a program behaves."""

    resource = "profiling_runs"
    rights = {"list": "profiles.read", "create": "jobs.submit"}
    output = serializers.ProfilingRunOut
    inputs = {"create": structs.ProfilingCreate}
    examples = profile_examples.RUNS
    filterset_class = filters.ProfilingFilters

    def rows(self) -> QuerySet[ProfilingRun]:
        return selectors.profiling_runs(self.caller, self.profile().pk)

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Measure the profile: run the program while its CPUs and clock are changed.

        It must run for about ten minutes and report its steps. One run of a profile at a time.
        """
        spec: Any = self.input()

        def effect() -> Answer:
            run = services.profiling_create(
                caller=self.caller, profile=self.profile(), spec=spec, now=timezone.now()
            )
            return Answer(self.shown(self.rows().get(pk=run.pk)), 201)

        return self.write(effect)
