"""Writes of partitions, switches and racks: how a cluster is cut, logically and physically."""

from datetime import datetime
from functools import partial
from typing import TypeVar

from clusters import selectors
from clusters.models import Partition, Rack, Switch
from clusters.services.references import cluster_named, resolved, switch_named
from rest.services import Services, Values
from tenancy import audited
from tenancy.callers import Caller

Slice = TypeVar("Slice", Partition, Switch, Rack)


def partition_create(caller: Caller, values: Values) -> Partition:
    values = {"lends": False, **values}
    row = Partition(**resolved(values, {"cluster": cluster_named}))
    return audited.insert(caller, row, values)


def switch_create(caller: Caller, values: Values) -> Switch:
    row = Switch(**resolved(values, {"cluster": cluster_named}))
    return audited.insert(caller, row, values)


def rack_create(caller: Caller, values: Values) -> Rack:
    values = {"switch": None, **values}
    home = cluster_named(values["cluster"])
    columns = resolved(values, {"switch": partial(switch_named, home)})
    return audited.insert(caller, Rack(**{**columns, "cluster": home}), values)


def rack_update(caller: Caller, rack: Rack, changes: Values, _now: datetime) -> Rack:
    columns = resolved(changes, {"switch": partial(switch_named, rack.cluster)})
    return audited.update(caller, rack, columns, changes)


def _update(caller: Caller, row: Slice, changes: Values, _now: datetime) -> Slice:
    return audited.update(caller, row, changes)


def _delete(caller: Caller, row: Partition | Switch | Rack) -> None:
    audited.delete(caller, row, {"cluster": row.cluster.name, "name": row.name})


PARTITIONS = Services(
    read=lambda _: selectors.partitions(), create=partition_create, update=_update, delete=_delete
)
SWITCHES = Services(
    read=lambda _: selectors.switches(), create=switch_create, update=_update, delete=_delete
)
RACKS = Services(
    read=lambda _: selectors.racks(), create=rack_create, update=rack_update, delete=_delete
)
