"""Which nodes and GPUs hold work.

The allocations belong to a room above this one, so they are reached only through the relation that
their table declares on nodes and GPUs: `allocation`, open while `released_at` is null.
"""

from django.db.models import QuerySet

from clusters.models import Gpu, GpuType, Node

_OPEN = {"allocation__isnull": False, "allocation__released_at__isnull": True}


def holding_work(nodes: QuerySet[Node]) -> QuerySet[Node]:
    return nodes.filter(**_OPEN).distinct()


def holding_no_work(nodes: QuerySet[Node]) -> QuerySet[Node]:
    return nodes.exclude(pk__in=holding_work(Node.objects.order_by()).values("pk"))


def gpus_held(*, tenant_id: int, gpu_type: GpuType) -> int:
    """How many GPUs of the type the tenant's attempts hold now."""
    held = Gpu.objects.filter(**_OPEN, allocation__tenant_id=tenant_id, node__gpu_type=gpu_type)
    return held.count()
