"""Requests are counted by route and status, across processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import ResolverMatch
from prometheus_client import REGISTRY

from scheduler_service.metrics import MetricsMiddleware, metrics


def serve(method: str, route: str | None, status: int) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        if route is not None:
            request.resolver_match = ResolverMatch(view, (), {}, route=route)
        return HttpResponse(status=status)

    MetricsMiddleware(view)(RequestFactory().generic(method, "/whatever/17/"))


def count(method: str, route: str, status: int) -> float:
    labels = {"method": method, "route": route, "status": str(status)}
    return REGISTRY.get_sample_value("fairwatt_http_requests_total", labels) or 0.0


@pytest.mark.parametrize(
    ("method", "route", "status", "labels"),
    [
        ("GET", "api/v1/jobs/<int:pk>/", 200, ("GET", "/api/v1/jobs/<int:pk>/", 200)),
        ("POST", "api/v1/jobs/", 503, ("POST", "/api/v1/jobs/", 503)),
        ("GET", None, 404, ("GET", "unmatched", 404)),
        ("BREW", "api/v1/jobs/", 405, ("other", "/api/v1/jobs/", 405)),
    ],
)
def test_a_request_counts_under_its_route_and_status(
    method: str, route: str | None, status: int, labels: tuple[str, str, int]
) -> None:
    before = count(*labels)
    serve(method, route, status)
    assert count(*labels) == before + 1


def test_the_time_taken_is_in_the_histogram() -> None:
    labels = {"method": "GET", "route": "/timed/"}
    serve("GET", "timed/", 200)
    assert REGISTRY.get_sample_value("fairwatt_http_request_seconds_count", labels) == 1


@pytest.mark.django_db
def test_the_page_is_in_prometheus_own_format() -> None:
    serve("GET", "page/", 200)
    answer = metrics(RequestFactory().get("/metrics", REMOTE_ADDR="127.0.0.1"))
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert b'fairwatt_http_requests_total{method="GET",route="/page/"' in answer.content


COUNT = """
from scheduler_service import metrics
metrics.REQUESTS.labels("GET", "/shared/", 200).inc()
"""
SUM = """
from prometheus_client import generate_latest
from scheduler_service import metrics
print(generate_latest(metrics.registry()).decode())
"""


@pytest.mark.process
def test_processes_that_share_a_directory_are_added_up(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for code in (COUNT, COUNT, SUM):
        answer = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert 'requests_total{method="GET",route="/shared/",status="200"} 2.0' in answer.stdout


@pytest.mark.parametrize(
    ("token", "production", "asked", "status"),
    [
        ("", False, {"REMOTE_ADDR": "127.0.0.1"}, 200),
        ("", False, {"REMOTE_ADDR": "10.0.0.9"}, 403),
        ("", True, {"REMOTE_ADDR": "127.0.0.1"}, 403),
        ("scrape-me", True, {"HTTP_AUTHORIZATION": "Bearer scrape-me"}, 200),
        ("scrape-me", False, {"REMOTE_ADDR": "127.0.0.1"}, 403),
        ("scrape-me", False, {"HTTP_AUTHORIZATION": "Bearer \u00e9"}, 403),
    ],
)
@pytest.mark.django_db
def test_strangers_see_no_figures(
    settings: LazySettings, token: str, asked: dict[str, str], status: int, *, production: bool
) -> None:
    settings.METRICS_TOKEN, settings.PRODUCTION = token, production
    request = RequestFactory().get("/metrics")
    request.META.update(asked)
    assert metrics(request).status_code == status
