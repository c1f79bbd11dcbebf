"""Writes of tenants and memberships; each leaves its audit row in the same transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from rest.etag import delete_versioned, update_versioned
from rest.problems import Conflict
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import Membership, Tenant


@transaction.atomic(savepoint=False)
def tenant_create(caller: Caller, values: Mapping[str, Any]) -> Tenant:
    tenant = Tenant.objects.create(**values)
    audit.record(caller, "tenant.create", tenant, values, tenant_id=tenant.id)
    return tenant


@transaction.atomic(savepoint=False)
def tenant_update(
    caller: Caller, tenant: Tenant, changes: Mapping[str, Any], now: datetime
) -> Tenant:
    update_versioned(tenant, {**changes, "updated_at": now})
    audit.record(caller, "tenant.update", tenant, changes, tenant_id=tenant.id)
    return tenant


@transaction.atomic(savepoint=False)
def tenant_delete(caller: Caller, tenant: Tenant) -> None:
    audit.record(caller, "tenant.delete", tenant, {"name": tenant.name}, tenant_id=tenant.id)
    delete_versioned(tenant)


@transaction.atomic(savepoint=False)
def membership_create(caller: Caller, *, tenant_id: int, username: str, role: str) -> Membership:
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Conflict.at("/username", "unknown_user", "There is no active user of this name.")
    membership = Membership.objects.create(tenant_id=tenant_id, user=user, role=role)
    changes = {"username": username, "role": role}
    audit.record(caller, "membership.create", membership, changes, tenant_id=tenant_id)
    return membership


@transaction.atomic(savepoint=False)
def membership_update(caller: Caller, membership: Membership, role: str) -> Membership:
    update_versioned(membership, {"role": role})
    tenant_id = membership.tenant_id
    audit.record(caller, "membership.update", membership, {"role": role}, tenant_id=tenant_id)
    return membership


@transaction.atomic(savepoint=False)
def membership_delete(caller: Caller, membership: Membership) -> None:
    tenant_id = membership.tenant_id
    audit.record(caller, "membership.delete", membership, {}, tenant_id=tenant_id)
    delete_versioned(membership)
