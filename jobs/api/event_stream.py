"""A job's events as they happen, as server-sent events.

Here a stream holds one of the server's few threads, so it lasts WINDOW_S at most; the client then
comes back with Last-Event-ID and misses nothing. Within one job ids grow in the order of commits,
since a job's events are written under its row's lock. A server that needs no thread to wait
(`followers/`) says so, and is only told what to follow.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from time import monotonic, sleep
from typing import Any

from django.db import DatabaseError
from django.http import HttpResponse, StreamingHttpResponse

from jobs.api.structs import EventOut
from jobs.lifecycle import TERMINAL
from jobs.models import JobEvent
from jobs.selectors import job_events
from rest.json import encode
from rest.problems import Problem
from rest.structs import show
from tenancy import rls
from tenancy.callers import Caller

CONTENT_TYPE = "text/event-stream"
WINDOW_S = 25.0
POLL_S = 0.5
# A server notices that a client has left when it writes to it, so this is also how long a stream
# that nobody reads may keep its place.
HEARTBEAT_S = 5.0
# Half of a worker's threads: the other half always answers.
STREAMS_MAX = 2
BATCH = 100
RETRY, ALIVE = b"retry: 1000\n\n", b": alive\n\n"
# The second keeps a proxy from collecting the stream before it passes it on.
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


# In a request's META: whoever asks waits by itself.
WAITS_ITSELF = "fairwatt.waits_itself"


class EventsToFollow(HttpResponse):
    """Not for a client: what a stream is to tell."""

    def __init__(self, caller: Caller, job_id: int, after: int) -> None:
        super().__init__()
        self.caller, self.job_id, self.after = caller, job_id, after


@dataclass(frozen=True, eq=False)
class Slot:
    ends_s: float


class Slots:
    """How many streams a process may have; one whose end nobody announced counts for its window."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: set[Slot] = set()
        self._lock = Lock()

    def take(self, now_s: float) -> Slot:
        with self._lock:
            self._taken = {slot for slot in self._taken if slot.ends_s > now_s}
            if len(self._taken) >= self.most:
                raise _too_many()
            slot = Slot(now_s + WINDOW_S)
            self._taken.add(slot)
            return slot

    def free(self, slot: Slot) -> None:
        with self._lock:
            self._taken.discard(slot)


SLOTS = Slots(STREAMS_MAX)


def _too_many() -> Problem:
    return Problem(
        "All event streams of this process are taken; come back, or poll the list instead.",
        code="too_many_streams",
        status=503,
        headers={"Retry-After": "5"},
    )


class ServedStream(ABC):
    """An iterator that gives its slot back, also when the client leaves before the first byte."""

    def __init__(
        self,
        *,
        slots: Slots = SLOTS,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        self._slots, self._clock, self._pause = slots, clock, pause
        self._slot = slots.take(clock())
        self._chunks = self._lines()
        self.over = False

    @abstractmethod
    def frames(self) -> Iterator[bytes]:
        """What has happened since it was last asked; sets `over` where nothing can follow."""

    def alive(self) -> bytes:
        """What is said when nothing happens."""
        return ALIVE

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        self._slots.free(self._slot)

    def _lines(self) -> Iterator[bytes]:
        spoke_s = self._clock()
        yield RETRY
        while self._clock() < self._slot.ends_s:
            try:
                for frame in self.frames():
                    yield frame
                    spoke_s = self._clock()
            except DatabaseError:
                # The status line is long gone; the client reconnects and is told then.
                return
            if self.over:
                return
            if self._clock() - spoke_s >= HEARTBEAT_S:
                spoke_s = self._clock()
                yield self.alive()
            self._pause(POLL_S)


class EventStream(ServedStream):
    """The moves of one job, until its last."""

    def __init__(self, caller: Caller, job_id: int, after: int, **more: Any) -> None:
        super().__init__(**more)
        self._caller, self._job_id, self._after = caller, job_id, after

    def frames(self) -> Iterator[bytes]:
        for event in news(self._caller, self._job_id, self._after):
            self._after, self.over = event.pk, event.to_state in TERMINAL
            yield event_frame(event)


def news(caller: Caller, job_id: int, after: int) -> list[JobEvent]:
    """The request's scope was closed when the stream began, so each look opens its own."""
    with rls.scope(scope_of(caller)):
        return list(job_events(caller, job_id).filter(pk__gt=after).order_by("pk")[:BATCH])


def scope_of(caller: Caller) -> str:
    return rls.ALL if caller.tenant_id is None else str(caller.tenant_id)


def event_frame(event: JobEvent) -> bytes:
    return frame(event.pk, show(EventOut, event))


def frame(event_id: int, body: Any) -> bytes:
    return b"id: %d\nevent: move\ndata: %b\n\n" % (event_id, encode(body))


def stream_response(stream: ServedStream) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        stream,
        content_type=CONTENT_TYPE,
        headers=HEADERS,
    )
