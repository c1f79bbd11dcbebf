"""Reads of the machines; every tenant may look at them."""

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from clusters.models import (
    Cluster,
    Gpu,
    GpuType,
    JoinToken,
    Node,
    Partition,
    Rack,
    Switch,
    Volume,
    VolumeGrant,
)
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES


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


def join_tokens() -> QuerySet[JoinToken]:
    return JoinToken.objects.select_related("cluster", "partition", "rack")


def volumes(caller: Caller) -> QuerySet[Volume]:
    """A tenant sees those that it may mount."""
    rows = Volume.objects.select_related("cluster").prefetch_related("grants__tenant")
    if caller.role not in TENANT_ROLES or caller.tenant_id is None:
        return rows
    return rows.filter(open_to(caller.tenant_id))


def open_to(tenant_id: int) -> Q:
    granted = VolumeGrant.objects.filter(volume=OuterRef("pk"), tenant=tenant_id)
    return Q(everyone=True) | Q(Exists(granted))
