"""Writes of volumes and of who may mount them."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from clusters import selectors
from clusters.models import Volume, VolumeGrant
from clusters.services.references import cluster_named, resolved
from rest.problems import Conflict
from rest.services import Services, Values
from tenancy import audited
from tenancy.callers import Caller
from tenancy.models import Tenant


@transaction.atomic(savepoint=False)
def volume_create(caller: Caller, values: Values) -> Volume:
    columns = {name: value for name, value in values.items() if name != "tenants"}
    row = audited.insert(caller, Volume(**resolved(columns, {"cluster": cluster_named})), values)
    _grant(row, values.get("tenants", ()))
    return row


@transaction.atomic(savepoint=False)
def volume_update(caller: Caller, volume: Volume, changes: Values, _now: datetime) -> Volume:
    """Attempts that start from now on see it; those that run keep what they have."""
    columns = {name: value for name, value in changes.items() if name != "tenants"}
    audited.update(caller, volume, columns, changes)
    if "tenants" in changes:
        VolumeGrant.objects.filter(volume=volume).delete()
        _grant(volume, changes["tenants"])
    return selectors.volumes(caller).get(pk=volume.pk)


def volume_delete(caller: Caller, volume: Volume) -> None:
    audited.delete(caller, volume, {"cluster": volume.cluster.name, "name": volume.name})


def _grant(volume: Volume, names: Sequence[str]) -> None:
    found = dict(Tenant.objects.filter(name__in=names).values_list("name", "pk"))
    for index, name in enumerate(names):
        if name not in found:
            detail = f"There is no tenant called {name!r}."
            raise Conflict.at(f"/tenants/{index}", "unknown_tenant", detail)
    VolumeGrant.objects.bulk_create(
        VolumeGrant(volume=volume, tenant_id=found[name]) for name in names
    )


VOLUMES = Services(
    read=selectors.volumes, create=volume_create, update=volume_update, delete=volume_delete
)
