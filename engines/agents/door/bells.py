"""Bells: one open answer per agent, to which a line is written when its node should sync.

A ring that is lost costs the usual interval between syncs and nothing else.
"""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from engines.agents.door.heard import refused
from rest.asgi import AsgiRequest, Send, within
from rest.gathered import Gathered
from tenancy.async_pool import AsyncPool
from tenancy.authentication import hash_in_header
from tenancy.rls import ALL

RING, ALIVE = b"ring\n", b"\n"
# An agent that hears nothing for three of these opens another.
ALIVE_S = 10.0
# Nobody tells us that a network has swallowed a peer: then its bell ends by itself.
LONGEST_S = 600.0
OPEN_S = 15.0
MOST_AT_ONCE = 256

_WHO = """
SELECT token.id, token.role, node.id
FROM unnest(%s::bytea[]) WITH ORDINALITY AS said (hash, row)
LEFT JOIN tenancy_apitoken token ON token.hash = said.hash AND token.revoked_at IS NULL
     AND (token.expires_at IS NULL OR token.expires_at > clock_timestamp())
LEFT JOIN clusters_node node ON node.token_id = token.id
ORDER BY said.row
"""


class Bell:
    def __init__(self) -> None:
        self.rung, self.replaced = asyncio.Event(), False

    def replace(self) -> None:
        self.replaced = True
        self.rung.set()


class Bells:
    """Of a node's bells the newest: an agent that opens a second has lost the first."""

    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool
        self._by_node: dict[int, Bell] = {}
        self._nodes: Gathered[bytes, int | Exception] = Gathered(self._find, most=MOST_AT_ONCE)

    def __len__(self) -> int:
        return len(self._by_node)

    def ring(self, node_id: str) -> None:
        bell = self._by_node.get(int(node_id))
        if bell is not None:
            bell.rung.set()

    def ring_all(self) -> None:
        """When rings may have been missed."""
        for bell in self._by_node.values():
            bell.rung.set()

    async def keep(self, ask: AsgiRequest, send: Send) -> None:
        """The answer to an agent that wants to be rung, for as long as it lasts."""
        async with within(OPEN_S):
            node_id = await self._nodes.ask(hash_in_header(ask.authorization))
        if isinstance(node_id, Exception):
            raise node_id
        bell = self._hang(node_id)
        try:
            await _begin(send)
            gone = asyncio.ensure_future(ask.gone())
            try:
                await _write(send, bell, gone)
            finally:
                gone.cancel()
        finally:
            if self._by_node.get(node_id) is bell:
                del self._by_node[node_id]

    def _hang(self, node_id: int) -> Bell:
        if before := self._by_node.get(node_id):
            before.replace()
        bell = self._by_node[node_id] = Bell()
        return bell

    async def _find(self, hashes: Sequence[bytes]) -> list[int | Exception]:
        async with self._pool.transaction(ALL) as link:
            rows = await (await link.execute(_WHO, [list(hashes)], prepare=True)).fetchall()
        return [refused(*row) or row[2] for row in rows]


async def _begin(send: Send) -> None:
    # The last keeps a proxy from collecting lines before it passes them on.
    headers = [
        (b"content-type", b"text/plain"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _send(send, ALIVE)


async def _write(send: Send, bell: Bell, gone: "asyncio.Future[None]") -> None:
    loop = asyncio.get_running_loop()
    # Bells that were hung together, as after a restart, do not end together.
    ends_s = loop.time() + LONGEST_S * random.uniform(0.75, 1.0)  # noqa: S311 - no secret
    while loop.time() < ends_s and not bell.replaced:
        rung = await _ring_or_gone(bell, gone)
        if gone.done():
            return
        await _send(send, RING if rung and not bell.replaced else ALIVE)
    await send({"type": "http.response.body", "body": b""})


async def _ring_or_gone(bell: Bell, gone: "asyncio.Future[None]") -> bool:
    waiting = asyncio.ensure_future(bell.rung.wait())
    try:
        either: set[asyncio.Future[Any]] = {waiting, gone}
        await asyncio.wait(either, timeout=ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
    rung = bell.rung.is_set()
    bell.rung.clear()
    return rung


async def _send(send: Send, line: bytes) -> None:
    await send({"type": "http.response.body", "body": line, "more_body": True})
