"""Samples, logs and registrations: the API's own views, on threads that no sync waits for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse

from agent import wire
from engines.agents.api import admit, admit_joining
from engines.agents.door.threads import by_view
from rest.asgi import AsgiRequest, DjangoThreads
from rest.problems import Problem

View = Callable[[HttpRequest], HttpResponse]

# What a node with 64 GPUs says when it joins is smaller.
STRANGER_BYTES = 256 * 1024


class UploadDesk:
    """One upload of a node and kind at a time, and so many in all: each holds its body."""

    def __init__(self, threads: DjangoThreads, most: int) -> None:
        self._threads, self._most = threads, most
        self._taking: set[tuple[View, object]] = set()

    async def take(self, view: View, ask: AsgiRequest, *, joins: bool = False) -> HttpResponse:
        with self._place(view, ask.authorization):
            if joins or ask.declares_more_than(STRANGER_BYTES):
                check = admit_joining if joins else admit
                await self._threads.run(by_view, check, ask.django_request())
            body = await ask.body(wire.MAX_BODY_BYTES if ask.authorization else STRANGER_BYTES)
            answer: HttpResponse = await self._threads.run(by_view, view, ask.django_request(body))
            return answer

    @contextmanager
    def _place(self, view: View, sender: str) -> Iterator[None]:
        # Those who join have no token yet, and only share the places.
        key = (view, sender or object())
        if key in self._taking or len(self._taking) >= self._most:
            detail = "Too many uploads at once; keep it and come back."
            raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
        self._taking.add(key)
        try:
            yield
        finally:
            self._taking.discard(key)
