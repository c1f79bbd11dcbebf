"""Writes of nodes and their GPUs."""

from datetime import datetime
from functools import partial
from uuid import uuid4

from django.db import transaction

from clusters import selectors
from clusters.models import Gpu, Node
from clusters.services.references import (
    Finders,
    cluster_named,
    gpu_type_named,
    partition_named,
    rack_named,
    resolved,
)
from rest.etag import update_versioned
from rest.problems import Conflict, Contradiction
from rest.services import Services, Values
from tenancy import audited
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def node_create(caller: Caller, values: Values) -> Node:
    """Cluster, partition, rack and GPU type are given by name; GPUs without uuids get new ones."""
    said = dict(values)
    gpu_count, given = said.pop("gpu_count"), said.pop("gpu_uuids", None)
    uuids = list(given or [f"GPU-{uuid4()}" for _ in range(gpu_count)])
    if len(uuids) != gpu_count:
        detail = f"{len(uuids)} uuids for {gpu_count} GPUs; give one each, or none."
        raise Contradiction.at("/gpu_uuids", "gpu_count_mismatch", detail)
    home = cluster_named(said["cluster"])
    finders: Finders = {
        "gpu_type": gpu_type_named,
        "partition": partial(partition_named, home),
        "rack": partial(rack_named, home),
    }
    columns = {**resolved(said, finders), "cluster": home}
    node = audited.insert(caller, Node(**columns), {**said, "gpu_uuids": uuids})
    Gpu.objects.bulk_create(
        Gpu(node=node, index=index, uuid=uuid) for index, uuid in enumerate(uuids)
    )
    return node


def node_update(caller: Caller, node: Node, changes: Values, now: datetime) -> Node:
    finders: Finders = {
        "partition": partial(partition_named, node.cluster),
        "rack": partial(rack_named, node.cluster),
    }
    columns = {**resolved(changes, finders), "updated_at": now}
    return audited.update(caller, node, columns, changes)


@transaction.atomic(savepoint=False)
def node_delete(caller: Caller, node: Node) -> None:
    """Refused while it holds work; a node with a history stays, and can be drained for good."""
    # A round locks a node before it places anything there, so the answer holds until the commit.
    update_versioned(node, {})
    if Node.objects.filter(pk=node.pk, gpus_in_use__gt=0).exists():
        detail = "Attempts hold GPUs of this node; drain it and wait, or cancel their jobs."
        raise Conflict(detail, code="node_holds_work")
    audited.delete(caller, node, {"cluster": node.cluster.name, "name": node.name})


NODES = Services(
    read=lambda _: selectors.nodes(), create=node_create, update=node_update, delete=node_delete
)


def gpu_update(caller: Caller, gpu: Gpu, changes: Values) -> Gpu:
    """An unhealthy GPU gets no new work; what runs on it runs on."""
    if changes.get("healthy") and "health_reason" not in changes:
        changes = {**changes, "health_reason": ""}
    return audited.update(caller, gpu, changes)
