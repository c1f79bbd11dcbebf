"""Event streams: Postgres tells which job has moved; one read serves all streams of a tenant."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from django.db import DatabaseError, InterfaceError
from psycopg.rows import dict_row

from jobs.api.event_stream import (
    ALIVE,
    BATCH,
    CONTENT_TYPE,
    HEADERS,
    RETRY,
    EventsToFollow,
    event_frame,
    scope_of,
)
from jobs.api.followers.waiting import Told, Waiting, told_or_gone
from jobs.lifecycle import TERMINAL
from jobs.models import JobEvent
from rest.asgi import AsgiRequest, Send
from rest.gathered import Gathered
from rest.version import HEADER, VERSION
from tenancy.async_pool import AsyncPool
from tenancy.callers import Caller

# After that a stream ends and the client comes back: with a token that may have been revoked.
LONGEST_S = 300.0
ALIVE_S = 15.0
# What a client that does not read may make us keep; it comes back for the rest.
MOST_BYTES = 256 * 1024
MOST_AT_ONCE = 500

# A job and the last event that is known of it.
Follow = tuple[int, int]

_EVENTS = """
SELECT event.* FROM unnest(%s::int8[], %s::int8[]) AS follow (job_id, after)
CROSS JOIN LATERAL (
    SELECT * FROM jobs_jobevent event
    WHERE event.job_id = follow.job_id AND event.id > follow.after ORDER BY event.id LIMIT %s
) event
ORDER BY event.id
"""


class EventFollowers:
    def __init__(self, pool: AsyncPool) -> None:
        self._pool, self._waiting = pool, Waiting()
        self._news: dict[str, Gathered[Follow, list[JobEvent]]] = {}

    def tell(self, job_id: str) -> None:
        """The job has moved."""
        for told in self._waiting.of(int(job_id)):
            told.set()

    def tell_all(self) -> None:
        """When moves may have been missed."""
        for job_id in self._waiting:
            self.tell(str(job_id))

    async def follow(self, wanted: EventsToFollow, ask: AsgiRequest, send: Send) -> None:
        with self._waiting.follow(wanted.job_id, wanted.after) as told:
            await begin(send)
            await self._write(wanted, told, ask, send)
        await send({"type": "http.response.body", "body": b""})

    async def _write(
        self, wanted: EventsToFollow, told: Told, ask: AsgiRequest, send: Send
    ) -> None:
        loop, sent = asyncio.get_running_loop(), 0
        ends_s = loop.time() + LONGEST_S
        while loop.time() < ends_s and sent < MOST_BYTES:
            told.clear()
            try:
                events = await self.events(wanted.caller, wanted.job_id, told.after)
            except (DatabaseError, InterfaceError):
                # The status line is long gone; the client comes back and is told then.
                return
            text = b"".join(map(event_frame, events)) or ALIVE
            await send({"type": "http.response.body", "body": text, "more_body": True})
            sent += len(text)
            if events and events[-1].to_state in TERMINAL:
                return
            told.after = events[-1].pk if events else told.after
            if len(events) < BATCH:
                await told_or_gone(ask, told, ALIVE_S)

    async def events(self, caller: Caller, job_id: int, after: int) -> list[JobEvent]:
        """Row-level security shows a tenant its own, whatever a view may have let through."""
        scope = scope_of(caller)
        if scope not in self._news:
            self._news[scope] = Gathered(partial(self._read, scope), most=MOST_AT_ONCE)
        return await self._news[scope].ask((job_id, after))

    async def _read(self, scope: str, asked: Sequence[Follow]) -> list[list[JobEvent]]:
        """Several may follow one job, each from another event on: the earliest is read."""
        first = dict(sorted(asked, reverse=True))
        found: dict[int, list[JobEvent]] = defaultdict(list)
        async with self._pool.transaction(scope) as link, link.cursor(row_factory=dict_row) as cur:
            await cur.execute(_EVENTS, [list(first), list(first.values()), BATCH], prepare=True)
            for row in await cur.fetchall():
                found[row["job_id"]].append(JobEvent(**row))
        return [[event for event in found[job] if event.pk > after] for job, after in asked]


async def begin(send: Send) -> None:
    headers: list[tuple[str, str]] = [
        ("content-type", CONTENT_TYPE),
        *HEADERS.items(),
        (HEADER, VERSION),
    ]
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    await send({"type": "http.response.start", "status": 200, "headers": raw})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
