"""`AsyncClient`: every call, awaited."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Self, TypeVar

import httpx2

from fairwatt.call import Flow, Item, NextLine, Open, Pause, Reply, Send, Step, Stream
from fairwatt.calls import Calls
from fairwatt.conversation import Conversation
from fairwatt.operation import Concurrent
from fairwatt.wire import NOTHING, plain, request_of, settings, unreachable

R = TypeVar("R")
T = TypeVar("T")


class AsyncClient(Calls, Concurrent):
    """The service, as one caller sees it; an async context manager, or `await aclose()`.

    The methods are those of `Client`: what it returns is awaited here, and what it iterates over
    is iterated with `async for`.
    """

    def open(self, url: str, token: str | None) -> None:
        self._http = httpx2.AsyncClient(**settings(url, token))

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def run(self, flow: Flow[R]) -> R:
        """Perform a flow of one's own, to its result."""
        talk, outcome = Conversation(flow), None
        async with AsyncWire(self._http, self.rules.url) as wire:
            while (step := talk.proceed(outcome)) is not None:
                outcome = await wire.perform(step)
        return talk.result

    async def play(self, flow: Stream[T]) -> AsyncIterator[T]:
        """Perform a stream of one's own, item by item."""
        talk, outcome = Conversation[None](flow), None  # type: ignore[arg-type]
        async with AsyncWire(self._http, self.rules.url) as wire:
            while (step := talk.proceed(outcome)) is not None:
                if isinstance(step, Item):
                    yield step.value
                    outcome = None
                else:
                    outcome = await wire.perform(step)


class AsyncWire:
    """Performs steps; holds at most one answer open."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http, self._url = http, url
        self._open = AsyncExitStack()
        self._lines: AsyncIterator[str] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def perform(self, step: Step) -> Any:
        """What came of it; that nobody answers is returned, since the flow decides about it."""
        match step:
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case NextLine():
                return await self._next_line()
        try:
            return await self._sent(step)
        except NOTHING as error:
            return unreachable(self._url, error)

    async def _sent(self, step: Send | Open) -> Reply:
        request = request_of(step.call, step.timeout_s)
        if isinstance(step, Send):
            answer = await self._http.request(**request)
            return Reply(answer.status_code, plain(answer.headers), answer.content)
        await self._open.aclose()
        answer = await self._open.enter_async_context(self._http.stream(**request))
        self._lines = answer.aiter_lines()
        body = b"" if answer.is_success else await answer.aread()
        return Reply(answer.status_code, plain(answer.headers), body)

    async def _next_line(self) -> str | None:
        try:
            return await anext(self._lines, None) if self._lines else None
        except NOTHING:
            return None
