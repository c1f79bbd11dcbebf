"""`python -m lab.benchmarks.api.load`: one request over and over on keep-alive connections.

Reads {"url", "method", "path", "headers", "body", "connections", "seconds"} from standard input
and writes {"per_s", "p50_ms", "p99_ms", "answers"}. Plain sockets, because on two cores a client
that works hard would be measured along with the server.
"""

import json
import socket
import sys
from dataclasses import dataclass
from statistics import quantiles
from threading import Barrier, Thread
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class RequestLoad:
    url: str
    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    connections: int = 8
    seconds: float = 3.0

    def request(self) -> bytes:
        body = b"" if self.body is None else json.dumps(self.body).encode()
        headers = {
            "Host": urlsplit(self.url).netloc,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **self.headers,
        }
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True)
class RequestFigures:
    per_s: float
    p50_ms: float
    p99_ms: float
    answers: dict[str, int]


def fire(load: RequestLoad) -> RequestFigures:
    request, where = load.request(), urlsplit(load.url)
    laps: list[float] = []
    answers: dict[str, int] = {}
    start = Barrier(load.connections + 1)

    def repeat() -> None:
        with socket.create_connection((str(where.hostname), int(where.port or 80))) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            start.wait()
            until = perf_counter() + load.seconds
            while (begun := perf_counter()) < until:
                link.sendall(request)
                status = _answer(link)
                laps.append(perf_counter() - begun)
                answers[status] = answers.get(status, 0) + 1

    threads = [Thread(target=repeat) for _ in range(load.connections)]
    for thread in threads:
        thread.start()
    start.wait()
    begun = perf_counter()
    for thread in threads:
        thread.join()
    took_s = perf_counter() - begun
    cuts = quantiles(laps, n=100)
    return RequestFigures(len(laps) / took_s, cuts[49] * 1000, cuts[98] * 1000, answers)


def _answer(link: socket.socket) -> str:
    """Read one whole answer; return its status."""
    received = link.recv(65_536)
    while b"\r\n\r\n" not in received:
        received += _more(link)
    head, _, body = received.partition(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        while not body.endswith(b"0\r\n\r\n"):
            body += _more(link)
    else:
        length = int(lower.split(b"content-length: ")[1].split(b"\r\n")[0])
        missing = length - len(body)
        while missing > 0:
            missing -= len(_more(link))
    return head[9:12].decode()


def _more(link: socket.socket) -> bytes:
    block = link.recv(1 << 20)
    if not block:
        raise ConnectionError("the server closed the connection in the middle of an answer")
    return block


if __name__ == "__main__":
    measured = fire(RequestLoad(**json.load(sys.stdin)))
    json.dump(measured.__dict__, sys.stdout)
