"""Writes of tenants and memberships; each leaves its audit row in the same transaction."""

from datetime import datetime

from django.contrib.auth import get_user_model

from rest.problems import Conflict
from rest.services import Services, Values
from tenancy import audited, selectors
from tenancy.callers import Caller
from tenancy.models import Membership, Tenant


def tenant_create(caller: Caller, values: Values) -> Tenant:
    return audited.insert(caller, Tenant(**values), values)


def tenant_update(caller: Caller, tenant: Tenant, changes: Values, now: datetime) -> Tenant:
    return audited.update(caller, tenant, {**changes, "updated_at": now}, changes)


def tenant_delete(caller: Caller, tenant: Tenant) -> None:
    audited.delete(caller, tenant, {"name": tenant.name})


TENANTS = Services(
    read=selectors.tenants, create=tenant_create, update=tenant_update, delete=tenant_delete
)


def membership_create(caller: Caller, *, tenant_id: int, username: str, role: str) -> Membership:
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Conflict.at("/username", "unknown_user", "There is no active user of this name.")
    membership = Membership(tenant_id=tenant_id, user=user, role=role)
    return audited.insert(caller, membership, {"username": username, "role": role})


def membership_update(caller: Caller, membership: Membership, role: str) -> Membership:
    return audited.update(caller, membership, {"role": role})


def membership_delete(caller: Caller, membership: Membership) -> None:
    audited.delete(caller, membership, {})
