"""HTTP by hand: on two cores a client that works hard would be measured along with the server."""

import asyncio
from urllib.parse import urlsplit


class Link:
    """One connection that is kept, and made anew when the server has closed it."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._host, self._port = str(where.hostname), int(where.port or 80)
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes]:
        try:
            return await self._send(method, path, body, headers)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return await self._send(method, path, body, headers)

    async def _send(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._open
        lines = {
            "Host": f"{self._host}:{self._port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        answered = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answered.split(b"content-length:")[1].split(b"\r\n")[0])
        if b"connection: close" in answered:
            content = await reader.readexactly(length)
            self.close()
            return int(answered.split(b" ", 2)[1]), content
        return int(answered.split(b" ", 2)[1]), await reader.readexactly(length)

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None
