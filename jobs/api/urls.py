"""Addresses of the work below /api/v1/."""

from django.urls import re_path

from jobs.api.arrays import ArrayViewSet
from jobs.api.artifacts import ArtifactContentView, ArtifactViewSet, JobArtifactViewSet
from jobs.api.attempts import AttemptViewSet
from jobs.api.events import JobEventViewSet
from jobs.api.jobs import JobViewSet
from jobs.api.logs import JobLogsView
from jobs.api.many_events import EventViewSet
from jobs.api.profiles import (
    ProfileFitViewSet,
    ProfilePointViewSet,
    ProfileViewSet,
    ProfilingRunViewSet,
)
from jobs.api.quotas import GpuQuotaViewSet
from rest.routing import ID, Router

router = Router()
router.register("jobs", JobViewSet, basename="jobs")
router.register("arrays", ArrayViewSet, basename="arrays")
router.register("profiles", ProfileViewSet, basename="profiles")
router.register("attempts", AttemptViewSet, basename="attempts")
router.register("artifacts", ArtifactViewSet, basename="artifacts")
router.register("gpu-quotas", GpuQuotaViewSet, basename="gpu-quotas")

urlpatterns = [
    *router.urls,
    re_path(
        rf"^profiles/(?P<profile_id>{ID})/points/?$",
        ProfilePointViewSet.as_view({"get": "list", "post": "create"}),
    ),
    re_path(rf"^profiles/(?P<profile_id>{ID})/fits/?$", ProfileFitViewSet.as_view({"get": "list"})),
    re_path(
        rf"^profiles/(?P<profile_id>{ID})/runs/?$",
        ProfilingRunViewSet.as_view({"get": "list", "post": "create"}),
    ),
    re_path(
        rf"^jobs/(?P<job_id>{ID})/events/?$",
        JobEventViewSet.as_view({"get": "list"}),
        name="job-events",
    ),
    re_path(r"^jobs/events/?$", EventViewSet.as_view({"get": "list"}), name="events"),
    re_path(rf"^jobs/(?P<job_id>{ID})/artifacts/?$", JobArtifactViewSet.as_view({"get": "list"})),
    re_path(rf"^artifacts/(?P<id>{ID})/content/?$", ArtifactContentView.as_view()),
    re_path(rf"^jobs/(?P<job_id>{ID})/logs/?$", JobLogsView.as_view(), name="job-logs"),
]
