"""Writes of GPU types; a name never changes, because jobs ask for types by name."""

from datetime import datetime
from typing import Any

from clusters import selectors
from clusters.models import GpuType
from rest.services import Services, Values
from tenancy import audited
from tenancy.callers import Caller


def gpu_type_create(caller: Caller, values: Values) -> GpuType:
    return audited.insert(caller, GpuType(**_with_ascending_clocks(values)), values)


def gpu_type_update(caller: Caller, gpu_type: GpuType, changes: Values, _now: datetime) -> GpuType:
    return audited.update(caller, gpu_type, _with_ascending_clocks(changes), changes)


def gpu_type_delete(caller: Caller, gpu_type: GpuType) -> None:
    """Takes tenants' quotas on the type along; refused while a node has it."""
    audited.delete(caller, gpu_type, {"name": gpu_type.name})


def _with_ascending_clocks(values: Values) -> dict[str, Any]:
    if "clocks_mhz" not in values:
        return dict(values)
    return {**values, "clocks_mhz": sorted(set(values["clocks_mhz"]))}


GPU_TYPES = Services(
    read=lambda _: selectors.gpu_types(),
    create=gpu_type_create,
    update=gpu_type_update,
    delete=gpu_type_delete,
)
