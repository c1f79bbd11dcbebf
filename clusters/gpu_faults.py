"""What an agent finds wrong with its GPUs takes them out of scheduling until it is right again."""

from collections.abc import Sequence

from agent.wire import GpuStatus
from clusters.models import Gpu, Node


def fault_of(status: GpuStatus) -> str:
    if not status.healthy:
        return status.health_reason or "unhealthy"
    if status.foreign_pids:
        return f"used by processes of others: {', '.join(map(str, status.foreign_pids[:5]))}"
    return ""


def gpus_report(node: Node, statuses: Sequence[GpuStatus]) -> None:
    """Only changes are written; uuids that are not this node's change nothing."""
    known = dict(Gpu.objects.filter(node=node).values_list("uuid", "fault"))
    for status in statuses:
        fault = fault_of(status)
        if known.get(status.uuid, fault) != fault:
            Gpu.objects.filter(node=node, uuid=status.uuid).update(fault=fault)
