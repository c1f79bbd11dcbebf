"""Reads of tenants and what belongs to them."""

from collections.abc import Mapping
from typing import TypeVar

from django.db.models import Model, QuerySet

from tenancy.callers import Caller
from tenancy.models import ApiToken, AuditRow, Membership, Secret, Tenant
from tenancy.roles import TENANT_ROLES

Row = TypeVar("Row", bound=Model)


def visible(rows: QuerySet[Row], caller: Caller, column: str = "tenant_id") -> QuerySet[Row]:
    """The first wall, which every read of tenants' rows passes: a tenant sees its own."""
    if caller.role in TENANT_ROLES:
        return first_wall(rows, {column: caller.tenant_id})
    return rows


def first_wall(rows: QuerySet[Row], own: Mapping[str, int | None]) -> QuerySet[Row]:
    """On its own so that tests can take it away and see row-level security hold alone."""
    return rows.filter(**own)


def tenants(caller: Caller) -> QuerySet[Tenant]:
    return visible(Tenant.objects.all(), caller, "id")


def memberships(caller: Caller) -> QuerySet[Membership]:
    return visible(Membership.objects.select_related("user"), caller)


def tokens(caller: Caller) -> QuerySet[ApiToken]:
    return visible(ApiToken.objects.all(), caller)


def secrets(caller: Caller) -> QuerySet[Secret]:
    return visible(Secret.objects.defer("sealed"), caller)


def audit_rows(caller: Caller) -> QuerySet[AuditRow]:
    return visible(AuditRow.objects.all(), caller)
