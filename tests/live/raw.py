"""Bytes on a socket, for requests that no well-behaved client can send."""

import select
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

MIB = 1 << 20


@dataclass(frozen=True)
class RawAnswer:
    status: int
    content_type: str
    body: bytes
    sent: int

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def exchange(
    url: str, head: bytes, chunks: Iterable[bytes] = (), *, hang_up: bool = False
) -> RawAnswer:
    """Send the head and as many chunks as the server wants before it answers; read one answer."""
    where = urlsplit(url)
    sent = 0
    with socket.create_connection((str(where.hostname), int(where.port or 80)), 30) as link:
        link.sendall(head)
        try:
            for chunk in chunks:
                if select.select([link], [], [], 0)[0]:
                    break
                link.sendall(chunk)
                sent += len(chunk)
            if hang_up:
                link.shutdown(socket.SHUT_WR)
        except OSError:
            # The server has answered and closed; its answer is still to be read.
            pass
        return _read(link, sent)


def _read(link: socket.socket, sent: int) -> RawAnswer:
    received = b""
    while block := _receive(link):
        received += block
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        size, _, rest = body.partition(b"\r\n")
        body = rest[: int(size, 16)]
    elif "content-length" in headers:
        body = body[: int(headers["content-length"])]
    return RawAnswer(int(lines[0].split(" ")[1]), headers.get("content-type", ""), body, sent)


def _receive(link: socket.socket) -> bytes:
    try:
        return link.recv(65_536)
    except ConnectionResetError:
        return b""


def head(method: bytes, target: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([method + b" " + target + b" HTTP/1.1", *headers, b"", b""])


def chunked(blocks: Iterable[bytes]) -> Iterable[bytes]:
    for block in blocks:
        yield b"%x\r\n%b\r\n" % (len(block), block)
    yield b"0\r\n\r\n"
