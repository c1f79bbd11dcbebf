"""What expressions and pages may name: metrics that are registered, routes, services."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import yaml
from django.urls import URLPattern, URLResolver, get_resolver
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric

from scheduler_service import door, gauges
from tests.scheduler_service.environment_names import ROOT

GAUGES = {gauge.name: gauge for gauge in gauges.GAUGES}
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())[
    "services"
]


@cache
def registered() -> dict[str, frozenset[str]]:
    """Labels by metric, of the API and the door; gauges are filled only from a record."""
    known = {name: labels for name, _, labels in _registered()}
    return {**known, **{name: frozenset(gauge.labels) for name, gauge in GAUGES.items()}}


def _registered() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Name, type and labels."""
    for collector in REGISTRY._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            (family,) = collector.describe()
            yield _name(family), family.type, frozenset(collector._labelnames)
        else:
            for family in collector.collect():
                labels = (label for sample in family.samples for label in sample.labels)
                yield _name(family), family.type, frozenset(labels)


def _name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


@cache
def series() -> dict[str, frozenset[str]]:
    """As expressions name them: a histogram is three, and `up` is Prometheus' own."""
    known = registered() | {"up": frozenset()}
    for name in [name for name, kind, _ in _registered() if kind == "histogram"]:
        labels = known.pop(name)
        known |= {f"{name}_count": labels, f"{name}_sum": labels}
        known[f"{name}_bucket"] = labels | {"le"}
    return known


@cache
def routes() -> frozenset[str]:
    """As the label `route` has them."""
    return frozenset([*_routes(get_resolver().url_patterns, "/"), *door.ROUTES])


def _routes(found: Iterable[URLPattern | URLResolver], before: str) -> Iterator[str]:
    for each in found:
        # Django leaves out the anchors of patterns within others, too.
        route = before + str(each.pattern).removeprefix("^")
        if isinstance(each, URLResolver):
            yield from _routes(each.url_patterns, route)
        else:
            yield route
