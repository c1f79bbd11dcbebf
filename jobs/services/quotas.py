"""Writes of tenants' quotas on a GPU type."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.models import GpuType, Node
from clusters.services.references import gpu_type_named
from jobs import selectors
from jobs.models import Allocation, GpuQuota
from rest.etag import delete_versioned, update_versioned
from rest.problems import Conflict
from rest.services import Services
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import Tenant


@transaction.atomic(savepoint=False)
def gpu_quota_create(caller: Caller, values: Mapping[str, Any]) -> GpuQuota:
    """Counts what the tenant holds already, because from now on every start and end is counted."""
    kind, tenant_id, gpus = gpu_type_named(values["gpu_type"]), values["tenant_id"], values["gpus"]
    # Whoever frees GPUs locks their nodes first, and whoever takes some locks the tenant after
    # them: with both locked, in that order, the count is still true when the row appears.
    list(Node.objects.filter(gpu_type=kind).order_by("pk").select_for_update(no_key=True))
    tenant = Tenant.objects.filter(pk=tenant_id).select_for_update(no_key=True).first()
    if tenant is None:
        raise Conflict.at("/tenant_id", "unknown_tenant", "There is no such tenant.")
    held = _gpus_held(tenant_id, kind)
    quota = GpuQuota.objects.create(tenant=tenant, gpu_type=kind, gpus=gpus, gpus_in_use=held)
    changes = {"gpu_type": kind.name, "gpus": gpus}
    audit.record(caller, "gpu_quota.create", quota, changes, tenant_id=tenant_id)
    return quota


@transaction.atomic(savepoint=False)
def gpu_quota_update(
    caller: Caller, quota: GpuQuota, changes: Mapping[str, Any], now: datetime
) -> GpuQuota:
    update_versioned(quota, changes)
    audit.record(caller, "gpu_quota.update", quota, changes, tenant_id=quota.tenant_id)
    return quota


@transaction.atomic(savepoint=False)
def gpu_quota_delete(caller: Caller, quota: GpuQuota) -> None:
    """Without a row, only the tenant's overall quota holds."""
    changes = {"gpu_type": quota.gpu_type.name, "gpus": quota.gpus}
    audit.record(caller, "gpu_quota.delete", quota, changes, tenant_id=quota.tenant_id)
    delete_versioned(quota)


def _gpus_held(tenant_id: int, gpu_type: GpuType) -> int:
    """How many GPUs of the type the tenant's attempts hold now."""
    held = Allocation.objects.filter(tenant=tenant_id, released_at=None, node__gpu_type=gpu_type)
    return held.count()


GPU_QUOTAS = Services(
    read=selectors.gpu_quotas,
    create=gpu_quota_create,
    update=gpu_quota_update,
    delete=gpu_quota_delete,
)
