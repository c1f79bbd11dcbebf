"""What an agent finds wrong with its GPUs takes them out of scheduling until it is right again."""

from collections.abc import Mapping, Sequence

from agent.wire import GpuStatus
from clusters.models import Gpu


def fault_of(status: GpuStatus) -> str:
    if not status.healthy:
        return status.health_reason or "unhealthy"
    if status.foreign_pids:
        return f"used by processes of others: {', '.join(map(str, status.foreign_pids[:5]))}"
    return ""


def gpus_report(node_id: int, known: Mapping[str, str], statuses: Sequence[GpuStatus]) -> None:
    """Only what differs from the known faults is written; other nodes' uuids change nothing."""
    for status in statuses:
        fault = fault_of(status)
        if known.get(status.uuid, fault) != fault:
            Gpu.objects.filter(node=node_id, uuid=status.uuid).update(fault=fault)
