"""Writes of tokens: create, rotate with an overlap, revoke."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from rest.problems import Conflict
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import ApiToken
from tenancy.roles import Role
from tenancy.token_text import PREFIX_LENGTH, hash_of, new_secret


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token and its secret, which exists here and in the caller's hands only."""

    token: ApiToken
    secret: str

    @property
    def pk(self) -> int:
        return self.token.pk


@transaction.atomic(savepoint=False)
def token_create(
    caller: Caller,
    *,
    name: str,
    role: Role,
    tenant_id: int | None = None,
    user_id: int | None = None,
    expires_at: datetime | None = None,
    rotated_from: ApiToken | None = None,
) -> NewToken:
    secret = new_secret(role)
    token = ApiToken.objects.create(
        prefix=secret[:PREFIX_LENGTH],
        hash=hash_of(secret),
        name=name,
        role=role,
        tenant_id=tenant_id,
        user_id=user_id,
        expires_at=expires_at,
        rotated_from=rotated_from,
    )
    changes = {"name": name, "role": role, "expires_at": expires_at}
    audit.record(caller, "token.create", token, changes, tenant_id=tenant_id)
    return NewToken(token, secret)


@transaction.atomic(savepoint=False)
def token_rotate(caller: Caller, token: ApiToken, *, overlap_s: int, now: datetime) -> NewToken:
    """A successor with the same powers; the old token lives on for `overlap_s` at most."""
    token = ApiToken.objects.select_for_update().get(pk=token.pk)
    if token.revoked_at is not None or (token.expires_at and token.expires_at <= now):
        raise Conflict("The token is no longer alive; create a new one.", code="token_dead")
    successor = token_create(
        caller,
        name=token.name,
        role=Role(token.role),
        tenant_id=token.tenant_id,
        user_id=token.user_id,
        expires_at=_same_lifetime(token, now),
        rotated_from=token,
    )
    ends_at = now + timedelta(seconds=overlap_s)
    token.expires_at = min(token.expires_at or ends_at, ends_at)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=token.expires_at)
    changes = {"successor": successor.token.pk, "expires_at": token.expires_at}
    audit.record(caller, "token.rotate", token, changes, tenant_id=token.tenant_id)
    return successor


def _same_lifetime(token: ApiToken, now: datetime) -> datetime | None:
    return token.expires_at and now + (token.expires_at - token.created_at)


@transaction.atomic(savepoint=False)
def token_revoke(caller: Caller, token: ApiToken, now: datetime) -> None:
    """Ends the token at once; doing it again changes nothing."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now):
        audit.record(caller, "token.revoke", token, {}, tenant_id=token.tenant_id)
