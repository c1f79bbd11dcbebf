"""A client of ASGI applications in this process: no server, no port, the same messages."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

App = Callable[[Any, Any, Any], Awaitable[None]]
# Nobody waits so long but for a machine that is busy with other things.
PATIENCE_S = 300.0


@dataclass
class Exchange:
    """One request and what has come back of its answer so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: "asyncio.Queue[bytes]" = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    asked: bool = False
    body: bytes = b""

    async def receive(self) -> dict[str, Any]:
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.pieces.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                self.ended.set()

    async def next(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.pieces.get()

    async def until(self, line: bytes) -> None:
        while line not in await self.next():
            pass

    @property
    def content(self) -> bytes:
        found = b""
        while not self.pieces.empty():
            found += self.pieces.get_nowait()
        return found

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    app: App
    token: str | None = None

    def _scope(self, method: str, target: str, body: bytes, more: Mapping[str, str]) -> Any:
        path, _, query = target.partition("?")
        headers = {"host": "localhost", "content-length": str(len(body)), **more}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        return {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Until it is answered."""
        exchange = Exchange(body=body)
        scope = self._scope(method, path, body, headers or {})
        async with asyncio.timeout(PATIENCE_S):
            await self.app(scope, exchange.receive, exchange.send)
        return exchange

    @asynccontextmanager
    async def opened(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Exchange]:
        """An answer that goes on; the client leaves at the end of the block."""
        exchange = Exchange()
        scope = self._scope("GET", path, b"", headers or {})
        task = asyncio.ensure_future(self.app(scope, exchange.receive, exchange.send))
        try:
            yield exchange
        finally:
            exchange.left.set()
            async with asyncio.timeout(PATIENCE_S):
                await task
