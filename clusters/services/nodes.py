"""Writes of nodes and their GPUs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from django.db import transaction

from clusters.models import Gpu, Node
from clusters.services.references import (
    Finders,
    cluster_named,
    gpu_type_named,
    partition_named,
    rack_named,
    resolved,
)
from rest.etag import delete_versioned, update_versioned
from rest.problems import Conflict, Contradiction
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def node_create(
    *,
    caller: Caller,
    cluster: str,
    gpu_count: int,
    gpu_uuids: Sequence[str] | None = None,
    **values: Any,
) -> Node:
    """Partition, rack and GPU type are given by name; GPUs without uuids get new ones."""
    uuids = gpu_uuids or [f"GPU-{uuid4()}" for _ in range(gpu_count)]
    if len(uuids) != gpu_count:
        detail = f"{len(uuids)} uuids for {gpu_count} GPUs; give one each, or none."
        raise Contradiction.at("/gpu_uuids", "gpu_count_mismatch", detail)
    home = cluster_named(cluster)
    finders: Finders = {
        "gpu_type": gpu_type_named,
        "partition": partial(partition_named, home),
        "rack": partial(rack_named, home),
    }
    node = Node.objects.create(cluster=home, **resolved(values, finders))
    Gpu.objects.bulk_create(
        Gpu(node=node, index=index, uuid=uuid) for index, uuid in enumerate(uuids)
    )
    audit.record(
        caller, "node.create", node, {"cluster": cluster, **values, "gpu_uuids": list(uuids)}
    )
    return node


@transaction.atomic(savepoint=False)
def node_update(*, caller: Caller, node: Node, changes: Mapping[str, Any], now: datetime) -> Node:
    finders: Finders = {
        "partition": partial(partition_named, node.cluster),
        "rack": partial(rack_named, node.cluster),
    }
    update_versioned(node, {**resolved(changes, finders), "updated_at": now})
    audit.record(caller, "node.update", node, changes)
    return node


@transaction.atomic(savepoint=False)
def node_delete(*, caller: Caller, node: Node) -> None:
    """Refused while it holds work; a node with a history stays, and can be drained for good."""
    audit.record(caller, "node.delete", node, {"cluster": node.cluster.name, "name": node.name})
    # A round locks a node before it places anything there, so the answer holds until the commit.
    update_versioned(node, {})
    if Node.objects.filter(pk=node.pk, gpus_in_use__gt=0).exists():
        detail = "Attempts hold GPUs of this node; drain it and wait, or cancel their jobs."
        raise Conflict(detail, code="node_holds_work")
    delete_versioned(node)


@transaction.atomic(savepoint=False)
def gpu_update(*, caller: Caller, gpu: Gpu, changes: Mapping[str, Any]) -> Gpu:
    """An unhealthy GPU gets no new work; what runs on it runs on."""
    if changes.get("healthy") and "health_reason" not in changes:
        changes = {**changes, "health_reason": ""}
    update_versioned(gpu, changes)
    audit.record(caller, "gpu.update", gpu, changes)
    return gpu
