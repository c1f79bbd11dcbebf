"""What attempts print comes in: from where we left off, up to a cap, whatever is sent."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from agent.wire import LogOffset, LogPiece, Logs, LogsTaken
from engines.agents.authentication import Sender
from engines.agents.stale import StaleEpoch
from jobs.models import Attempt, Log, LogChunk
from jobs.prepared_statements import fetch

# Above the cap the agent keeps a tail and says what it left out.
TAIL_BYTES = 128 * 1024
# Chunks smaller than this grow: a line a second must not become a row a second.
SMALL_BYTES = 4096

Key = tuple[int, str, int]
# Of a stream that no single process printed.
TOGETHER = -1

_OPEN = """
INSERT INTO jobs_log
    (tenant_id, attempt_id, node_id, stream, rank, size, tail_offset, closed, updated_at)
SELECT attempt.tenant_id, attempt.id, %(node)s, sent.stream, sent.rank, 0, 0, false, %(now)s
FROM unnest(%(attempts)s::int8[], %(streams)s::text[], %(ranks)s::int4[])
     AS sent (attempt_id, stream, rank)
JOIN jobs_attempt attempt ON attempt.id = sent.attempt_id
ORDER BY 2, 4, 5
ON CONFLICT DO NOTHING
"""
_GROW = """
UPDATE jobs_logchunk SET data = data || %s
WHERE log_id = %s AND "offset" = %s AND octet_length(data) < %s
"""


# Of streams that are over without a byte: all in one statement, and what a crash of Postgres
# forgets of them nobody misses.
_CLOSE_SILENT = """
INSERT INTO jobs_log
    (tenant_id, attempt_id, node_id, stream, rank, size, tail_offset, closed, updated_at)
SELECT attempt.tenant_id, attempt.id, part.node_id, sent.stream, sent.rank, 0, 0, true,
       %(now)s::timestamptz
FROM unnest(%(attempts)s::int8[], %(fences)s::int8[], %(streams)s::text[], %(ranks)s::int4[])
     AS sent (attempt_id, fence, stream, rank)
JOIN jobs_attempt attempt ON attempt.id = sent.attempt_id AND attempt.fence = sent.fence
JOIN jobs_part part ON part.attempt_id = attempt.id AND part.node_id = %(node)s::int8
ORDER BY 2, 4, 5
ON CONFLICT DO NOTHING
RETURNING attempt_id, stream, rank, set_config('synchronous_commit', 'off', true)
"""


@dataclass(frozen=True, slots=True)
class NewBytes:
    """Of a chunk: the bytes that are new, and whether the stream ends with them."""

    data: bytes
    closes: bool


def logs_take(sender: Sender, logs: Logs, *, now: datetime) -> LogsTaken:
    if logs.epoch != sender.epoch:
        raise StaleEpoch
    silent = _close_silent(sender.node_id, logs, now)
    others = [chunk for chunk in logs.chunks if _key(chunk) not in silent]
    heads = _take(sender.node_id, others, now) if others else {}
    return LogsTaken(tuple(_answer(chunk, heads) for chunk in logs.chunks))


def _close_silent(node_id: int, logs: Logs, now: datetime) -> set[Key]:
    """Streams of which nothing was known and nothing is to come; most of short jobs are such."""
    over = [each for each in logs.chunks if each.final and not each.data and each.offset == 0]
    if not over:
        return set()
    values = {
        "node": node_id,
        "now": now,
        "attempts": [chunk.attempt_id for chunk in over],
        "fences": [chunk.fence for chunk in over],
        "streams": [str(chunk.stream) for chunk in over],
        "ranks": [_key(chunk)[2] for chunk in over],
    }
    return {(attempt, stream, rank) for attempt, stream, rank, _ in fetch(_CLOSE_SILENT, values)}


def _take(node_id: int, chunks: list[LogPiece], now: datetime) -> dict[Key, Log]:
    fences = _fences(node_id, chunks)
    ours = [chunk for chunk in chunks if fences.get(chunk.attempt_id) == chunk.fence]
    if not ours:
        return {}
    with transaction.atomic():
        heads = _open(node_id, ours, now)
        for chunk in ours:
            _append(heads[_key(chunk)], chunk, now)
    return heads


def wanted(size: int, cap: int, chunk: LogPiece) -> NewBytes:
    """What overlaps is known, what leaves a hole is not wanted yet, what is beyond never."""
    known = size - chunk.offset
    if known < 0:
        return NewBytes(b"", closes=False)
    data = chunk.data[known:][: max(0, cap - size)]
    ends_here = chunk.final and chunk.offset + len(chunk.data) <= size + len(data)
    return NewBytes(data, closes=ends_here or size + len(data) >= cap)


def _fences(node_id: int, chunks: list[LogPiece]) -> dict[int, int]:
    """Attempts the node has, or had, a part in."""
    named = {chunk.attempt_id for chunk in chunks}
    return dict(
        Attempt.objects.filter(pk__in=named, parts__node=node_id).values_list("pk", "fence")
    )


def _open(node_id: int, chunks: list[LogPiece], now: datetime) -> dict[Key, Log]:
    keys = sorted({_key(chunk) for chunk in chunks})
    attempts = [attempt for attempt, _, _ in keys]
    values: dict[str, Any] = {
        "node": node_id,
        "now": now,
        "attempts": attempts,
        "streams": [stream for _, stream, _ in keys],
        "ranks": [rank for _, _, rank in keys],
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, values)
    heads = (
        Log.objects.select_for_update().filter(node=node_id, attempt__in=attempts).order_by("pk")
    )
    return {(head.attempt_id, head.stream, head.rank): head for head in heads}


def _key(chunk: LogPiece) -> Key:
    rank = TOGETHER if chunk.rank is None else chunk.rank
    return chunk.attempt_id, str(chunk.stream), rank


def _append(head: Log, chunk: LogPiece, now: datetime) -> None:
    if head.closed:
        return
    new = wanted(head.size, settings.LOG_CAP_BYTES + TAIL_BYTES, chunk)
    if new.data:
        _store(head, new.data)
    if new.data or new.closes:
        head.size += len(new.data)
        head.closed, head.updated_at = new.closes, now
        head.save(update_fields=["size", "tail_offset", "closed", "updated_at"])


def _store(head: Log, data: bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_GROW, [data, head.pk, head.tail_offset, SMALL_BYTES])
        if cursor.rowcount:
            return
    LogChunk.objects.create(tenant_id=head.tenant_id, log=head, offset=head.size, data=data)
    head.tail_offset = head.size


def _answer(chunk: LogPiece, heads: dict[Key, Log]) -> LogOffset:
    head = heads.get(_key(chunk))
    # Over without a byte; or another's attempt, or one we do not know: nobody wants to read it.
    offset, closed = (chunk.offset, True) if head is None else (head.size, head.closed)
    return LogOffset(chunk.attempt_id, chunk.stream, offset, closed=closed, rank=chunk.rank)
