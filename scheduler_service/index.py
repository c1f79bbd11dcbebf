"""What there is to ask: for a person who has only the address, and for a program that explores."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from scheduler_service.health import read_only

NAME = "Fairwatt: GPU scheduling as a service."


@read_only
def front(request: HttpRequest) -> HttpResponse:
    links = {
        "api": "/api/v1/",
        "schema": reverse("schema"),
        "docs": reverse("swagger"),
        "redoc": reverse("redoc"),
        "console": reverse("console:home"),
        "admin": reverse("admin:index"),
        "health": "/healthz",
        "readiness": "/readyz",
    }
    return JsonResponse({"service": NAME, "links": links})


@read_only
def api_index(request: HttpRequest) -> HttpResponse:
    """Every list and every view without an id, by its name."""
    from scheduler_service.urls import api  # noqa: PLC0415 - the addresses name this view

    paths = sorted(set(_plain(api)))
    links = {path.strip("/").replace("-", "_"): f"/api/v1/{path}" for path in paths}
    return JsonResponse({"service": NAME, "links": links})


def _plain(patterns: Iterable[Any]) -> Iterable[str]:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _plain(pattern.url_patterns)
        elif pattern.name and "(" not in str(pattern.pattern):
            path = str(pattern.pattern).lstrip("^").removesuffix("/?$").rstrip("/")
            if path and "/" not in path:
                yield f"{path}/"
