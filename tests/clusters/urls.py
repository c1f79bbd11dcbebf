from django.contrib import admin
from django.urls import include, path

handler404 = "rest.problems.handler404"
urlpatterns = [
    path("api/v1/", include("clusters.api.urls")),
    path("admin/", admin.site.urls),
]
