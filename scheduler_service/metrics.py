"""What Prometheus scrapes: requests by route over all processes of the API, and the gauges."""

import os
import time
from collections.abc import Callable
from hmac import compare_digest

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from rest.problems import Forbidden, response
from scheduler_service import gauges
from scheduler_service.health import read_only

REQUESTS = Counter(
    "fairwatt_http_requests_total", "Requests answered.", ["method", "route", "status"]
)
LATENCY = Histogram(
    "fairwatt_http_request_seconds",
    "Time from a request's arrival at Django to its answer.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
LOOPBACK = frozenset({"127.0.0.1", "::1", ""})
# Anything else a client invents would make a new time series.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MetricsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started_s = time.perf_counter()
        answer = self.get_response(request)
        method = request.method if request.method in _METHODS else "other"
        match = request.resolver_match
        route = f"/{match.route}" if match else "unmatched"
        REQUESTS.labels(method, route, answer.status_code).inc()
        LATENCY.labels(method, route).observe(time.perf_counter() - started_s)
        return answer


def registry() -> CollectorRegistry:
    """This process's figures, or all processes' where they share PROMETHEUS_MULTIPROC_DIR."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


def _may_scrape(request: HttpRequest) -> bool:
    """By token; without one set, from this machine, unless a proxy may stand before it."""
    if settings.METRICS_TOKEN:
        sent = request.headers.get("Authorization", "")
        return compare_digest(sent.encode(), f"Bearer {settings.METRICS_TOKEN}".encode())
    return not settings.PRODUCTION and request.META.get("REMOTE_ADDR") in LOOPBACK


@read_only
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_scrape(request):
        detail = "Figures are for who has METRICS_TOKEN: send it as a bearer token."
        return response(Forbidden(detail, code="not_for_strangers"), request.path)
    figures = generate_latest(registry()) + generate_latest(gauges.REGISTRY)
    return HttpResponse(figures, content_type=CONTENT_TYPE_LATEST)
