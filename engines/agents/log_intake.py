"""What attempts print comes in: from where we left off, up to a cap, whatever is sent."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from agent.wire import LogChunk as Sent
from agent.wire import LogOffset, Logs, LogsTaken
from engines.agents.authentication import Sender
from engines.agents.stale import StaleEpoch
from jobs.models import Attempt, Log, LogChunk

# Above the cap the agent keeps a tail and says what it left out.
TAIL_BYTES = 128 * 1024
# Chunks smaller than this grow: a line a second must not become a row a second.
SMALL_BYTES = 4096

Key = tuple[int, str]

_OPEN = """
INSERT INTO jobs_log (tenant_id, attempt_id, node_id, stream, size, tail_offset, closed, updated_at)
SELECT attempt.tenant_id, attempt.id, %(node)s, sent.stream, 0, 0, false, %(now)s
FROM unnest(%(attempts)s::int8[], %(streams)s::text[]) AS sent (attempt_id, stream)
JOIN jobs_attempt attempt ON attempt.id = sent.attempt_id
ORDER BY 2, 4
ON CONFLICT DO NOTHING
"""
_GROW = """
UPDATE jobs_logchunk SET data = data || %s
WHERE log_id = %s AND "offset" = %s AND octet_length(data) < %s
"""


@dataclass(frozen=True, slots=True)
class NewBytes:
    """Of a chunk: the bytes that are new, and whether the stream ends with them."""

    data: bytes
    closes: bool


def logs_take(sender: Sender, logs: Logs, *, now: datetime) -> LogsTaken:
    if logs.epoch != sender.epoch:
        raise StaleEpoch
    fences = _fences(sender.node_id, logs)
    ours = [chunk for chunk in logs.chunks if fences.get(chunk.attempt_id) == chunk.fence]
    heads: dict[Key, Log] = {}
    if ours:
        with transaction.atomic():
            heads = _open(sender.node_id, ours, now)
            for chunk in ours:
                _append(heads[chunk.attempt_id, chunk.stream], chunk, now)
    return LogsTaken(tuple(_answer(chunk, heads) for chunk in logs.chunks))


def wanted(size: int, cap: int, chunk: Sent) -> NewBytes:
    """What overlaps is known, what leaves a hole is not wanted yet, what is beyond never."""
    known = size - chunk.offset
    if known < 0:
        return NewBytes(b"", closes=False)
    data = chunk.data[known:][: max(0, cap - size)]
    ends_here = chunk.final and chunk.offset + len(chunk.data) <= size + len(data)
    return NewBytes(data, closes=ends_here or size + len(data) >= cap)


def _fences(node_id: int, logs: Logs) -> dict[int, int]:
    """Attempts the node has, or had, a part in."""
    named = {chunk.attempt_id for chunk in logs.chunks}
    return dict(
        Attempt.objects.filter(pk__in=named, parts__node=node_id).values_list("pk", "fence")
    )


def _open(node_id: int, chunks: list[Sent], now: datetime) -> dict[Key, Log]:
    keys = sorted({(chunk.attempt_id, str(chunk.stream)) for chunk in chunks})
    attempts = [attempt for attempt, _ in keys]
    with connection.cursor() as cursor:
        streams = [stream for _, stream in keys]
        values: dict[str, Any] = {
            "node": node_id,
            "now": now,
            "attempts": attempts,
            "streams": streams,
        }
        cursor.execute(_OPEN, values)
    heads = (
        Log.objects.select_for_update().filter(node=node_id, attempt__in=attempts).order_by("pk")
    )
    return {(head.attempt_id, head.stream): head for head in heads}


def _append(head: Log, chunk: Sent, now: datetime) -> None:
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


def _answer(chunk: Sent, heads: dict[Key, Log]) -> LogOffset:
    head = heads.get((chunk.attempt_id, chunk.stream))
    if head is None:
        # Another's attempt, or one we do not know: nobody wants to read it.
        return LogOffset(chunk.attempt_id, chunk.stream, chunk.offset, closed=True)
    return LogOffset(chunk.attempt_id, chunk.stream, head.size, closed=head.closed)
