"""Waiting for news of one thing, or for its follower to leave."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rest.asgi import AsgiRequest, ClientGone


class Told(asyncio.Event):
    """Set when there are news; `after` is what the follower knows already."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after


class Waiting:
    """Who waits for what, by the number of the thing."""

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[Told]] = defaultdict(set)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._followers))

    def of(self, number: int) -> set[Told]:
        return self._followers.get(number, set())

    @contextmanager
    def follow(self, number: int, after: int) -> Iterator[Told]:
        told = Told(after)
        self._followers[number].add(told)
        try:
            yield told
        finally:
            self._followers[number].discard(told)
            if not self._followers[number]:
                del self._followers[number]


async def told_or_gone(ask: AsgiRequest, told: Told, longest_s: float) -> None:
    """Until there are news, or the time is up; raises when nobody is left to tell."""
    waiting: list[asyncio.Task[Any]] = [
        asyncio.ensure_future(told.wait()),
        asyncio.ensure_future(ask.gone()),
    ]
    try:
        await asyncio.wait(waiting, timeout=longest_s, return_when=asyncio.FIRST_COMPLETED)
        if waiting[1].done():
            raise ClientGone
    finally:
        for task in waiting:
            task.cancel()
