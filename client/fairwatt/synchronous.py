"""`Client`: every call, blocking."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Self, TypeVar

import httpx2

from fairwatt.call import Flow, Item, NextLine, Open, Pause, Reply, Send, Step, Stream
from fairwatt.calls import Calls
from fairwatt.conversation import Conversation
from fairwatt.operation import Blocking
from fairwatt.wire import NOTHING, plain, request_of, settings, unreachable

R = TypeVar("R")
T = TypeVar("T")


class Client(Calls, Blocking):
    """The service, as one caller sees it; a context manager, or `close()` it.

    >>> with fairwatt.Client(url, token) as client:
    ...     job = client.submit(fairwatt.JobSpec(argv=["python3", "-c", "print(1)"]))
    ...     client.wait(job.id).state
    <JobState.SUCCEEDED: 'succeeded'>
    """

    def open(self, url: str, token: str | None) -> None:
        self._http = httpx2.Client(**settings(url, token))

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, flow: Flow[R]) -> R:
        """Perform a flow of one's own, to its result."""
        talk, outcome = Conversation(flow), None
        with Wire(self._http, self.rules.url) as wire:
            while (step := talk.proceed(outcome)) is not None:
                outcome = wire.perform(step)
        return talk.result

    def play(self, flow: Stream[T]) -> Iterator[T]:
        """Perform a stream of one's own, item by item."""
        talk, outcome = Conversation[None](flow), None  # type: ignore[arg-type]
        with Wire(self._http, self.rules.url) as wire:
            while (step := talk.proceed(outcome)) is not None:
                if isinstance(step, Item):
                    yield step.value
                    outcome = None
                else:
                    outcome = wire.perform(step)


class Wire:
    """Performs steps; holds at most one answer open."""

    def __init__(self, http: httpx2.Client, url: str) -> None:
        self._http, self._url = http, url
        self._open = ExitStack()
        self._lines: Iterator[str] = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def perform(self, step: Step) -> Any:
        """What came of it; that nobody answers is returned, since the flow decides about it."""
        match step:
            case Pause(seconds):
                return time.sleep(seconds)
            case NextLine():
                return self._next_line()
        try:
            return self._sent(step)
        except NOTHING as error:
            return unreachable(self._url, error)

    def _sent(self, step: Send | Open) -> Reply:
        request = request_of(step.call, step.timeout_s)
        if isinstance(step, Send):
            answer = self._http.request(**request)
            return Reply(answer.status_code, plain(answer.headers), answer.content)
        self._open.close()
        answer = self._open.enter_context(self._http.stream(**request))
        self._lines = answer.iter_lines()
        body = b"" if answer.is_success else answer.read()
        return Reply(answer.status_code, plain(answer.headers), body)

    def _next_line(self) -> str | None:
        try:
            return next(self._lines, None)
        except NOTHING:
            return None
