"""HTTP as an agent speaks it, with as little work as possible: the client is not to be measured."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

BELL = "bell"


class Connection:
    """One keep-alive connection; whoever lost it comes again."""

    def __init__(self, url: str, token: str) -> None:
        where = urlsplit(url)
        self._host, self._port = str(where.hostname), int(where.port or 80)
        self._head = f"Host: {where.netloc}\r\nAuthorization: Bearer {token}\r\n".encode()
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._turn = asyncio.Lock()

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        async with self._turn:
            try:
                return await self._post(path, body)
            except (OSError, asyncio.IncompleteReadError):
                # An idle connection was closed by the server in the moment in which it was used.
                self.close()
                return await self._post(path, body)

    async def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        reader, writer = await self._opened()
        writer.write(
            b"POST /api/v1/agent/%b HTTP/1.1\r\n%bContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (path.encode(), self._head, len(body), body)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head.split(b" ", 2)[1]), await reader.readexactly(length)

    async def rings(self) -> AsyncIterator[None]:
        """Of a connection of its own, until the service ends it."""
        reader, writer = await self._opened()
        writer.write(b"GET /api/v1/agent/%b HTTP/1.1\r\n%b\r\n" % (BELL.encode(), self._head))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(head.split(b"\r\n", 1)[0].decode())
        try:
            # Chunk sizes are numbers and never look like a ring.
            while line := await reader.readline():
                if line.startswith(b"ring"):
                    yield
                elif line == b"0\r\n":
                    return
        finally:
            self.close()

    async def _opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
        self._open = None
