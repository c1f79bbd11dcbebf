"""Writes of join tokens: the single-use right to register a node in a cluster."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from clusters.models import JoinToken
from clusters.services.references import cluster_named, partition_named, rack_named
from tenancy import audit
from tenancy.callers import Caller
from tenancy.token_text import PREFIX_LENGTH, hash_of

PREFIX = "fw_j_"


@dataclass(frozen=True, slots=True)
class NewJoinToken:
    """A join token and its secret, which exists here and in the caller's hands only."""

    token: JoinToken
    secret: str

    @property
    def pk(self) -> int:
        return self.token.pk


@transaction.atomic(savepoint=False)
def join_token_create(
    *,
    caller: Caller,
    cluster: str,
    lifetime_s: int,
    now: datetime,
    partition: str | None = None,
    rack: str | None = None,
) -> NewJoinToken:
    secret = PREFIX + secrets.token_urlsafe(32)
    home = cluster_named(cluster)
    token = JoinToken.objects.create(
        cluster=home,
        partition=None if partition is None else partition_named(home, partition),
        rack=None if rack is None else rack_named(home, rack),
        prefix=secret[:PREFIX_LENGTH],
        hash=hash_of(secret),
        expires_at=now + timedelta(seconds=lifetime_s),
    )
    changes = {
        "cluster": cluster,
        "partition": partition,
        "rack": rack,
        "expires_at": token.expires_at,
    }
    audit.record(caller, "join_token.create", token, changes)
    return NewJoinToken(token, secret)


@transaction.atomic(savepoint=False)
def join_token_revoke(*, caller: Caller, token: JoinToken, now: datetime) -> None:
    """Nobody joins with it from now on; a node that already did stays."""
    if JoinToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=now):
        audit.record(caller, "join_token.revoke", token, {})
