"""Who comes without a token: sockets that drip, and guesses of passwords."""

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

from lab.benchmarks.strangers.wire import Link

PROBE_S = 0.1
FORM = b"username=nobody&password=wrong&csrfmiddlewaretoken=" + b"a" * 32
DRIP = (
    b"POST /api/v1/agent/register HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
)


@dataclass
class Attack:
    url: str
    healthz_ms: list[float] = field(default_factory=list)
    sync_ms: list[float] = field(default_factory=list)
    syncs: Counter[int] = field(default_factory=Counter)
    logins: Counter[int] = field(default_factory=Counter)
    cut: int = 0

    async def dripping(self) -> None:
        """A byte a second, and again from the start when the server has had enough."""
        where = urlsplit(self.url)
        while True:
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(DRIP)
            with contextlib.suppress(OSError):
                while not reader.at_eof():
                    writer.write(b" ")
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(4096), 1)
            self.cut += 1
            writer.close()

    async def guessing(self) -> None:
        link = Link(self.url)
        while True:
            status, _ = await link.send(
                "POST", "/admin/login/", FORM,
                Content_Type="application/x-www-form-urlencoded", Cookie="csrftoken=" + "a" * 32,
            )  # fmt: skip
            self.logins[status] += 1
            # As browsers do, and not as fast as a loop can.
            await asyncio.sleep(1)


async def healthz(attack: Attack) -> None:
    link = Link(attack.url)
    while True:
        begun_s = perf_counter()
        status, _ = await link.send("GET", "/healthz")
        assert status == 200
        attack.healthz_ms.append((perf_counter() - begun_s) * 1000)
        await asyncio.sleep(PROBE_S)
