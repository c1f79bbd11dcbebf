"""Secrets of tenants: written, rotated and handed to attempts, never shown again."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction

from rest.services import Values
from tenancy import audited
from tenancy.callers import Caller
from tenancy.models import Secret
from tenancy.sealing import newest_key_sealed, reseal, seal, unseal


def secret_create(
    caller: Caller, *, tenant_id: int, name: str, value: str, now: datetime
) -> Secret:
    row = Secret(
        tenant_id=tenant_id,
        name=name,
        sealed=seal(value, _of(tenant_id, name)),
        created_at=now,
        updated_at=now,
    )
    return audited.insert(caller, row, {"name": name})


def secret_update(caller: Caller, secret: Secret, changes: Values, now: datetime) -> Secret:
    """Attempts that start from now on get the new value; those that run keep theirs."""
    sealed = seal(changes["value"], _of(secret.tenant_id, secret.name))
    columns = {"sealed": sealed, "updated_at": now}
    return audited.update(caller, secret, columns, {"name": secret.name})


def secret_delete(caller: Caller, secret: Secret) -> None:
    audited.delete(caller, secret, {"name": secret.name})


def secret_values(tenant_id: int, names: Collection[str]) -> Mapping[str, str]:
    """For the attempts that name them; one that is gone is missing."""
    rows = Secret.objects.filter(tenant=tenant_id, name__in=names)
    return {row.name: unseal(row.sealed, _of(tenant_id, row.name)) for row in rows}


def secrets_reseal() -> int:
    """After a new key was put first in SECRETS_KEYS: how many were still under an older one."""
    changed = 0
    for pk in list(Secret.objects.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            row = Secret.objects.select_for_update().filter(pk=pk).first()
            if row is not None and not newest_key_sealed(row.sealed):
                Secret.objects.filter(pk=pk).update(sealed=reseal(row.sealed))
                changed += 1
    return changed


def _of(tenant_id: int, name: str) -> str:
    return f"secret {tenant_id}/{name}"
