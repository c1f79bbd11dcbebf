"""Reading a body: how long it may take, how large it may be, and how many at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Protocol

from rest.problems import Problem, too_large

# A body without a token in its request: a login's form, or a node that joins.
ANONYMOUS_BYTES = 1024 * 1024
# A body arrives within this, and a second more for each of these bytes that it declares.
BODY_S = 10.0
BYTES_PER_S = 256 * 1024
# Of a body that was refused unread.
DISCARD_S = 5.0
DISCARD_BYTES = 16 * 1024 * 1024
# Of bodies that are under way, in each process; one address may have a quarter of it.
BUDGET_BYTES = 256 * 1024 * 1024
ADDRESS_SHARE = 4


class Incoming(Protocol):
    """What the server hands over: the body, chunk by chunk."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class BodyBudget:
    """Bytes that bodies under way may come to; counted by the event loop alone."""

    def __init__(self, most: int = BUDGET_BYTES) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()
        self._total = 0

    @contextmanager
    def reserved(self, address: str, size: int) -> Iterator[None]:
        of_address = self._taken[address] + size
        if self._total + size > self._most or of_address > self._most // ADDRESS_SHARE:
            raise too_busy("Too many large requests are under way; come back.")
        self._taken[address] = of_address
        self._total += size
        try:
            yield
        finally:
            self._total -= size
            self._taken[address] -= size
            if not self._taken[address]:
                del self._taken[address]


async def read_body(incoming: Incoming, *, most: int, declared: int | None) -> bytes:
    """The whole body; 408 when it drips, 413 when it is longer than it may be."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds_for(most if declared is None else declared)):
            async for part in incoming:
                parts.append(part)
                size += len(part)
                if size > most:
                    raise too_large()
    except TimeoutError:
        raise too_slow() from None
    return b"".join(parts)


async def discard(incoming: Incoming) -> None:
    """Take what is still on its way, for a while: who hangs up on a proxy that sends is a 502."""
    size = 0
    try:
        async with asyncio.timeout(DISCARD_S):
            async for part in incoming:
                size += len(part)
                if size > DISCARD_BYTES:
                    return
    except TimeoutError:
        return


def seconds_for(size: int) -> float:
    return BODY_S + size / BYTES_PER_S


def too_slow() -> Problem:
    detail = "The body did not arrive in time; send the request again."
    return Problem(detail, code="body_too_slow", status=408, headers={"Connection": "close"})


def length_required() -> Problem:
    detail = "Send Content-Length: a body without it is read only for a valid token."
    return Problem(detail, code="length_required", status=411, headers={"Connection": "close"})


def too_busy(detail: str) -> Problem:
    return Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
