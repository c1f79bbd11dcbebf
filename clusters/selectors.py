"""Reads of the machines; every tenant may look at them, quotas are each tenant's own."""

from datetime import timedelta
from typing import Any

from django.db.models import F, OuterRef, Prefetch, QuerySet, Subquery

from clusters.models import (
    CarbonHour,
    CarbonSeries,
    Cluster,
    Gpu,
    GpuQuota,
    GpuType,
    JoinToken,
    Node,
    Partition,
    Rack,
    Switch,
    Tariff,
    TariffHour,
)
from tenancy.callers import Caller
from tenancy.selectors import visible


def clusters() -> QuerySet[Cluster]:
    return Cluster.objects.select_related("tariff", "carbon_series")


def partitions() -> QuerySet[Partition]:
    return Partition.objects.select_related("cluster")


def switches() -> QuerySet[Switch]:
    return Switch.objects.select_related("cluster")


def racks() -> QuerySet[Rack]:
    return Rack.objects.select_related("cluster", "switch")


def gpu_types() -> QuerySet[GpuType]:
    return GpuType.objects.all()


def nodes() -> QuerySet[Node]:
    in_order = Prefetch("gpu_set", Gpu.objects.order_by("index"))
    rows = Node.objects.select_related("cluster", "partition", "rack", "gpu_type")
    return rows.prefetch_related(in_order)


def gpus() -> QuerySet[Gpu]:
    return Gpu.objects.select_related("node__cluster", "node__gpu_type")


def tariffs() -> QuerySet[Tariff]:
    """With the span that an hourly one's hours cover."""
    hours = TariffHour.objects.filter(tariff=OuterRef("pk"))
    return Tariff.objects.annotate(**_covers(hours))


def tariff_hours(tariff_id: int) -> QuerySet[TariffHour]:
    return TariffHour.objects.filter(tariff=tariff_id)


def carbon_series() -> QuerySet[CarbonSeries]:
    """With the span that its hours cover."""
    hours = CarbonHour.objects.filter(series=OuterRef("pk"))
    return CarbonSeries.objects.annotate(**_covers(hours))


def carbon_hours(series_id: int) -> QuerySet[CarbonHour]:
    return CarbonHour.objects.filter(series=series_id)


def join_tokens() -> QuerySet[JoinToken]:
    return JoinToken.objects.select_related("cluster", "partition", "rack")


def gpu_quotas(caller: Caller) -> QuerySet[GpuQuota]:
    return visible(GpuQuota.objects.select_related("gpu_type"), caller)


def _covers(hours: QuerySet[Any]) -> dict[str, Subquery]:
    """Two look-ups in the index of hours, however many there are."""
    ends = hours.annotate(ends_at=F("starts_at") + timedelta(hours=1))
    return {
        "covers_from_at": Subquery(hours.order_by("starts_at").values("starts_at")[:1]),
        "covers_until_at": Subquery(ends.order_by("-starts_at").values("ends_at")[:1]),
    }
