"""Rows by the names that people use for them; an unknown name is refused where it stands."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from clusters.models import Cluster, GpuType, Partition, Rack, Switch
from rest.problems import Conflict
from tariffs.models import CarbonSeries, Tariff

Row = TypeVar("Row", bound=Model)
Finders = Mapping[str, Callable[[str], Model]]


def cluster_named(name: str) -> Cluster:
    return _named(Cluster.objects.all(), name, "cluster")


def gpu_type_named(name: str) -> GpuType:
    return _named(GpuType.objects.all(), name, "gpu_type")


def tariff_named(name: str) -> Tariff:
    return _named(Tariff.objects.all(), name, "tariff")


def carbon_series_named(name: str) -> CarbonSeries:
    return _named(CarbonSeries.objects.all(), name, "carbon_series")


def partition_named(cluster: Cluster, name: str) -> Partition:
    return _named(Partition.objects.filter(cluster=cluster), name, "partition")


def switch_named(cluster: Cluster, name: str) -> Switch:
    return _named(Switch.objects.filter(cluster=cluster), name, "switch")


def rack_named(cluster: Cluster, name: str) -> Rack:
    return _named(Rack.objects.filter(cluster=cluster), name, "rack")


def resolved(values: Mapping[str, Any], finders: Finders) -> dict[str, Any]:
    """`values` with rows in place of names; null stays null."""
    rows = {
        field: None if values[field] is None else find(values[field])
        for field, find in finders.items()
        if field in values
    }
    return {**values, **rows}


def _named(rows: QuerySet[Row], name: str, what: str) -> Row:
    row = rows.filter(name=name).first()
    if row is None:
        inside = " in this cluster" if what in {"partition", "switch", "rack"} else ""
        detail = f"There is no {what.replace('_', ' ')} called {name!r}{inside}."
        raise Conflict.at(f"/{what}", f"unknown_{what}", detail)
    return row
