"""Reads of the machines; every tenant may look at them."""

from django.db.models import Prefetch, QuerySet

from clusters.models import Cluster, Gpu, GpuType, JoinToken, Node, Partition, Rack, Switch


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
