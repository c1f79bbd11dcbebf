"""Seals: what the audit said up to an id, in a digest that no later change of it can match."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from time import sleep
from typing import Any

import structlog
from django.db import connection, transaction

from tenancy import rls
from tenancy.audit_digest import GENESIS, Content, row_digest
from tenancy.models import AuditSeal

log = structlog.get_logger(__name__)
# Few enough to look through by hand, should a seal be broken.
SEAL_ROWS = 1000
LOCK = 0x6175646974  # "audit"
LOOKS, LOOK_EVERY_S = 20, 0.05
# Below every id.
BEFORE_ALL = -(2**63)

COLUMNS = (
    *("id", "at", "token_id", "user_id", "role", "tenant_id", "action"),
    *("object_type", "object_id", "request_id", "changes"),
)
_ROWS = """
SELECT id, at, token_id, user_id, role, tenant_id, action, object_type, object_id, request_id,
    changes::text
FROM tenancy_auditrow WHERE id > %s AND id <= %s ORDER BY id LIMIT %s
"""
_NEWEST = "SELECT coalesce(max(id), 0) FROM tenancy_auditrow"
_WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'tenancy_auditrow'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
"""


def audit_seal(*, now: datetime) -> int:
    """Seal what is settled; how many rows that were."""
    sealed = 0
    with rls.scope(rls.ALL):
        settled = settled_id()
        while settled is not None and (seal := _seal_next(settled, now)) is not None:
            # A log that is kept elsewhere holds what nobody can seal anew.
            log.info("audit_sealed", last_id=seal.last_id, rows=seal.count, digest=seal.digest)
            sealed += seal.count
    return sealed


def settled_id(pause: Callable[[float], None] = sleep) -> int | None:
    """An id up to which no row can appear any more, or None while a writer takes its time.

    Ids are drawn in order and committed in any. Whoever draws one holds the table's lock for
    writers from before that until its end: once all who held it after a look have ended, what was
    newest at that look has every row before it.
    """
    newest = _look(_NEWEST)[0][0]
    writers = set(_look(_WRITERS))
    for _ in range(LOOKS):
        if not writers:
            break
        pause(LOOK_EVERY_S)
        writers &= set(_look(_WRITERS))
    return None if writers else newest


def rows_between(after: int, last: int, most: int | None = None) -> list[Content]:
    """As they are hashed."""
    return [
        dict(zip(COLUMNS, (pk, _instant(at), *others), strict=True))
        for pk, at, *others in _look(_ROWS, [after, last, most])
    ]


def chained(previous: str, rows: Iterable[Content]) -> str:
    for row in rows:
        previous = row_digest(previous, row)
    return previous


@transaction.atomic
def _seal_next(settled: int, now: datetime) -> AuditSeal | None:
    if not _look("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])[0][0]:
        return None
    last = AuditSeal.objects.order_by("last_id").last()
    after, previous = (last.last_id, last.digest) if last else (BEFORE_ALL, GENESIS)
    rows = rows_between(after, settled, SEAL_ROWS)
    if not rows:
        return None
    return AuditSeal.objects.create(
        first_id=max(after, 0) + 1,
        last_id=rows[-1]["id"],
        count=len(rows),
        previous_digest=previous,
        digest=chained(previous, rows),
        sealed_at=now,
    )


def _look(sql: str, values: list[Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
