"""Every address of the service."""

from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularRedocView, SpectacularSwaggerView

from scheduler_service import health
from scheduler_service.schema import SchemaView

handler400 = "rest.problems.handler400"
handler403 = "rest.problems.handler403"
handler404 = "rest.problems.handler404"
handler500 = "rest.problems.handler500"

api = [
    path("", include("tenancy.api.urls")),
    path("", include("clusters.api.urls")),
    path("", include("jobs.api.urls")),
    path("schema/", SchemaView.as_view(), name="schema"),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="swagger"),
    path("redoc/", SpectacularRedocView.as_view(url_name="schema"), name="redoc"),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
]
