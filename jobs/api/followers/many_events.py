"""Streams of many jobs: one look at the newest events serves every follower of the process.

The look says whose events are new; only the followers of those tenants are told, and one read
serves all of a tenant that stand at the same place. While nothing happens a follower costs a line
now and then, and no question to the database.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError
from psycopg.rows import dict_row

from jobs.api.event_stream import BATCH, scope_of
from jobs.api.followers.events import ALIVE_S, LONGEST_S, MOST_AT_ONCE, MOST_BYTES, begin
from jobs.api.followers.waiting import Told, Waiting, told_or_gone
from jobs.api.many_events import ManyEventsToFollow, many_frame, place_frame
from jobs.api.structs import JobEventOut
from jobs.horizon import LOOK, Horizon, Look
from rest.asgi import AsgiRequest, Send
from rest.gathered import Gathered
from rest.structs import show
from tenancy.async_pool import AsyncPool
from tenancy.rls import ALL

# Submits ring nobody: a job that is new is told of so much later, at the latest.
LOOK_S = 0.5
# Rings come in bursts; one look serves them all.
BURST_S = 0.05
# After a pause there may be too many to ask whose they are: then everybody looks.
MANY = 10_000
# Who sees every tenant's.
EVERYBODY = 0

logger = logging.getLogger(__name__)

_TENANTS = "SELECT DISTINCT tenant_id FROM jobs_jobevent WHERE id > %s AND id <= %s"
_EVENTS = """
SELECT follow.after, event.*, job.name AS job_name, job.labels, job.array_id,
    tenant.name AS tenant_name, cluster.name AS cluster_name
FROM unnest(%(afters)s::int8[]) AS follow (after)
CROSS JOIN LATERAL (
    SELECT * FROM jobs_jobevent
    WHERE id > follow.after AND id <= %(settled)s {of_tenant} ORDER BY id LIMIT %(most)s
) event
JOIN jobs_job job ON job.id = event.job_id
JOIN tenancy_tenant tenant ON tenant.id = event.tenant_id
JOIN clusters_cluster cluster ON cluster.id = job.cluster_id
ORDER BY event.id
"""
# Row-level security says so too, but in a way that no index serves.
_OF_ONE = _EVENTS.format(of_tenant="AND tenant_id = %(tenant)s")
_OF_ALL = _EVENTS.format(of_tenant="")


class EventPage(NamedTuple):
    """Events with their frames; `reached` is the id before which there are no others."""

    events: list[tuple[JobEventOut, bytes]]
    reached: int


class ManyEventFollowers:
    def __init__(self, pool: AsyncPool) -> None:
        self._pool, self._waiting, self._horizon = pool, Waiting(), Horizon()
        self._news: dict[str, Gathered[int, EventPage]] = {}
        self._rung = asyncio.Event()
        # Whoever was not told until here has missed nothing.
        self._told_until = 0
        # Two looks at once would tell everybody twice; who comes meanwhile shares the next.
        self._looking, self._begun, self._looked = asyncio.Lock(), 0, 0

    def ring(self) -> None:
        """Some job has moved."""
        self._rung.set()

    async def keep_looking(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(BURST_S)
            await _until(self._rung, LOOK_S)
            self._rung.clear()
            try:
                if list(self._waiting):
                    await self.look()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("events not looked at: %s", type(error).__name__)

    async def look(self) -> None:
        """Tell those whose events are new, of a moment after the call."""
        came = self._begun
        async with self._looking:
            if self._looked <= came:
                self._begun += 1
                await self._look()
                self._looked = self._begun

    async def _look(self) -> None:
        async with self._pool.transaction(ALL) as link:
            (row,) = await (await link.execute(LOOK, prepare=True)).fetchall()
            settled, begin_at = self._horizon.take(Look(*row)), self._told_until
            if settled <= begin_at:
                return
            if settled - begin_at > MANY:
                moved = list(self._waiting)
            else:
                rows = await link.execute(_TENANTS, [begin_at, settled], prepare=True)
                moved = [EVERYBODY, *(tenant for (tenant,) in await rows.fetchall())]
        for number in moved:
            for told in self._waiting.of(number):
                told.set()
        self._told_until = settled

    async def follow(self, wanted: ManyEventsToFollow, ask: AsgiRequest, send: Send) -> None:
        number = wanted.caller.tenant_id or EVERYBODY
        with self._waiting.follow(number, wanted.after or 0) as told:
            await self.look()
            if wanted.after is None or wanted.after > self._horizon.settled:
                # From now on; or from a place this database has not come to, which no wait mends.
                told.after = self._horizon.settled
            told.set()
            await begin(send)
            await self._write(wanted, told, ask, send)
        await send({"type": "http.response.body", "body": b""})

    async def _write(
        self, wanted: ManyEventsToFollow, told: Told, ask: AsgiRequest, send: Send
    ) -> None:
        loop, sent = asyncio.get_running_loop(), 0
        ends_s = loop.time() + LONGEST_S
        while loop.time() < ends_s and sent < MOST_BYTES:
            try:
                text = await self._text(wanted, told)
            except (DatabaseError, InterfaceError):
                # The status line is long gone; the client comes back and is told then.
                return
            await send({"type": "http.response.body", "body": text, "more_body": True})
            sent += len(text)
            await told_or_gone(ask, told, ALIVE_S)

    async def _text(self, wanted: ManyEventsToFollow, told: Told) -> bytes:
        if not told.is_set():
            told.after = max(told.after, self._told_until)
            return place_frame(told.after)
        told.clear()
        page = await self._page(wanted, told.after)
        told.after = page.reached
        if page.reached < self._horizon.settled:
            told.set()
        wants = wanted.selection.wants
        return b"".join(frame for event, frame in page.events if wants(event)) or place_frame(
            told.after
        )

    async def _page(self, wanted: ManyEventsToFollow, after: int) -> EventPage:
        scope = scope_of(wanted.caller)
        if scope not in self._news:
            read = partial(self._read, scope, wanted.caller.tenant_id)
            self._news[scope] = Gathered(read, most=MOST_AT_ONCE)
        return await self._news[scope].ask(after)

    async def _read(self, scope: str, tenant: int | None, asked: Sequence[int]) -> list[EventPage]:
        settled, found = self._horizon.settled, defaultdict(list)
        values = {"afters": sorted(set(asked)), "settled": settled, "tenant": tenant, "most": BATCH}
        async with self._pool.transaction(scope) as link, link.cursor(row_factory=dict_row) as cur:
            await cur.execute(_OF_ALL if tenant is None else _OF_ONE, values, prepare=True)
            for row in await cur.fetchall():
                event = show(JobEventOut, row)
                found[row["after"]].append((event, many_frame(event)))
        return [_page_of(found[after], settled) for after in asked]


def _page_of(events: list[tuple[JobEventOut, bytes]], settled: int) -> EventPage:
    return EventPage(events, events[-1][0].id if len(events) == BATCH else settled)


async def _until(event: asyncio.Event, longest_s: float) -> None:
    try:
        async with asyncio.timeout(longest_s):
            await event.wait()
    except TimeoutError:
        return
