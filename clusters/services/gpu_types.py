"""Writes of GPU types; a name never changes, because jobs ask for types by name."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from clusters.models import GpuType
from rest.etag import delete_versioned, update_versioned
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def gpu_type_create(*, caller: Caller, values: Mapping[str, Any]) -> GpuType:
    gpu_type = GpuType.objects.create(**_with_ascending_clocks(values))
    audit.record(caller, "gpu_type.create", gpu_type, values)
    return gpu_type


@transaction.atomic(savepoint=False)
def gpu_type_update(*, caller: Caller, gpu_type: GpuType, changes: Mapping[str, Any]) -> GpuType:
    update_versioned(gpu_type, _with_ascending_clocks(changes))
    audit.record(caller, "gpu_type.update", gpu_type, changes)
    return gpu_type


@transaction.atomic(savepoint=False)
def gpu_type_delete(*, caller: Caller, gpu_type: GpuType) -> None:
    """Takes tenants' quotas on the type along; refused while a node has it."""
    audit.record(caller, "gpu_type.delete", gpu_type, {"name": gpu_type.name})
    delete_versioned(gpu_type)


def _with_ascending_clocks(values: Mapping[str, Any]) -> dict[str, Any]:
    if "clocks_mhz" not in values:
        return dict(values)
    return {**values, "clocks_mhz": sorted(set(values["clocks_mhz"]))}
