"""Every address of the service."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from scheduler_service.health import healthz, readyz
from scheduler_service.index import api_index, front
from scheduler_service.metrics import metrics
from scheduler_service.schema import RedocView, SchemaView, SwaggerView

handler400 = "rest.problems.handler400"
handler403 = "rest.problems.handler403"
handler404 = "rest.problems.handler404"
handler500 = "rest.problems.handler500"

api: list[URLPattern | URLResolver] = [
    # First, because nodes ask hundreds of times a second.
    path("", include("engines.agents.api")),
    path("", include("engines.agents.files_api")),
    path("", include("tenancy.api.urls")),
    path("", include("storage.api.urls")),
    path("", include("tariffs.api.urls")),
    path("", include("clusters.api.urls")),
    path("", include("jobs.api.urls")),
    path("", include("webhooks.api.urls")),
    path("", include("energy.api.urls")),
    path("", include("scheduling.api.urls")),
    path("", include("whatif.api.urls")),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("", api_index),
]

urlpatterns = [
    path("", front),
    path("api/v1/", include(api)),
    path("docs/", SwaggerView.as_view(url_name="schema"), name="swagger"),
    path("redoc/", RedocView.as_view(url_name="schema"), name="redoc"),
    path("console/", include("console.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
]
