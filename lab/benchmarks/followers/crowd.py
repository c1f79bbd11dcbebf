"""Followers of a stream of events, with as little work as possible: they are not to be measured."""

import asyncio
from collections import defaultdict
from time import perf_counter
from urllib.parse import urlsplit

PATH = "/api/v1/jobs/events/?state=cancelled"
# So many knock at once; the rest wait for their turn.
AT_ONCE = 100


class Follower(asyncio.Protocol):
    """Notes when each event came; all frames of one are taken as one."""

    def __init__(self, head: bytes, seen: dict[bytes, list[float]]) -> None:
        self._head, self._seen = head, seen
        self.answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.write(self._head)

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(data.split(b"\r\n", 1)[0])
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                self._seen[line].append(perf_counter())

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_exception(exc or ConnectionError("closed before an answer"))


class Crowd:
    """`seen` has, by event, when each follower knew of it."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._where = (str(where.hostname), int(where.port or 80))
        self._head = (
            f"GET {PATH} HTTP/1.1\r\nHost: {where.netloc}\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()
        self.seen: dict[bytes, list[float]] = defaultdict(list)
        self._open: list[asyncio.BaseTransport] = []

    async def gather(self, count: int) -> None:
        turns = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._follow(turns) for _ in range(count)))

    async def _follow(self, turns: asyncio.Semaphore) -> None:
        async with turns:
            loop = asyncio.get_running_loop()
            made = lambda: Follower(self._head, self.seen)  # noqa: E731
            transport, follower = await loop.create_connection(made, *self._where)
            self._open.append(transport)
            status = await follower.answered
        if b" 200 " not in status:
            raise ConnectionError(f"a follower was answered {status.decode()!r}")

    def leave(self) -> None:
        for transport in self._open:
            transport.close()
