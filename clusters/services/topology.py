"""Writes of partitions, switches and racks: how a cluster is cut, logically and physically."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from django.db import transaction

from clusters.models import Partition, Rack, Switch
from clusters.services.references import cluster_named, resolved, switch_named
from rest.etag import delete_versioned, update_versioned
from tenancy import audit
from tenancy.callers import Caller

Slice = TypeVar("Slice", Partition, Switch, Rack)


@transaction.atomic(savepoint=False)
def partition_create(*, caller: Caller, cluster: str, name: str, lends: bool = False) -> Partition:
    row = Partition.objects.create(cluster=cluster_named(cluster), name=name, lends=lends)
    audit.record(
        caller, "partition.create", row, {"cluster": cluster, "name": name, "lends": lends}
    )
    return row


def partition_update(
    *, caller: Caller, partition: Partition, changes: Mapping[str, Any]
) -> Partition:
    return _update(caller, partition, changes, changes)


def partition_delete(*, caller: Caller, partition: Partition) -> None:
    _delete(caller, partition)


@transaction.atomic(savepoint=False)
def switch_create(*, caller: Caller, cluster: str, name: str) -> Switch:
    row = Switch.objects.create(cluster=cluster_named(cluster), name=name)
    audit.record(caller, "switch.create", row, {"cluster": cluster, "name": name})
    return row


def switch_update(*, caller: Caller, switch: Switch, changes: Mapping[str, Any]) -> Switch:
    return _update(caller, switch, changes, changes)


def switch_delete(*, caller: Caller, switch: Switch) -> None:
    _delete(caller, switch)


@transaction.atomic(savepoint=False)
def rack_create(*, caller: Caller, cluster: str, name: str, switch: str | None = None) -> Rack:
    home = cluster_named(cluster)
    above = None if switch is None else switch_named(home, switch)
    row = Rack.objects.create(cluster=home, name=name, switch=above)
    audit.record(caller, "rack.create", row, {"cluster": cluster, "name": name, "switch": switch})
    return row


@transaction.atomic(savepoint=False)
def rack_update(*, caller: Caller, rack: Rack, changes: Mapping[str, Any]) -> Rack:
    columns = resolved(changes, {"switch": partial(switch_named, rack.cluster)})
    return _update(caller, rack, columns, changes)


def rack_delete(*, caller: Caller, rack: Rack) -> None:
    _delete(caller, rack)


@transaction.atomic(savepoint=False)
def _update(
    caller: Caller, row: Slice, columns: Mapping[str, Any], changes: Mapping[str, Any]
) -> Slice:
    update_versioned(row, columns)
    audit.record(caller, f"{row._meta.model_name}.update", row, changes)
    return row


@transaction.atomic(savepoint=False)
def _delete(caller: Caller, row: Partition | Switch | Rack) -> None:
    changes = {"cluster": row.cluster.name, "name": row.name}
    audit.record(caller, f"{row._meta.model_name}.delete", row, changes)
    delete_versioned(row)
