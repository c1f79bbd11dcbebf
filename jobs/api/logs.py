"""A job's logs over HTTP: the end of them, any part of them, or what comes next."""

import time
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from jobs import selectors
from jobs.api.event_stream import SLOTS, WAITS_ITSELF, Slots
from jobs.api.filters import BoundedFilter
from jobs.api.structs import LogOut
from jobs.lifecycle import TERMINAL
from jobs.logs import logs, page
from jobs.models import Job, Log
from rest.filters import ChoiceFilter, IntegerFilter, TextFilter
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, respond
from tenancy.callers import Caller

POLL_S = 0.5
LIMIT = BoundedFilter(1024 * 1024, 64 * 1024, help_text="Bytes at most.")
ATTEMPT = IntegerFilter(help_text="The attempt's number; the newest that printed, if not given.")
NODE = TextFilter(help_text="The node's name, of a gang; the first, if not given.")
RANK = IntegerFilter(help_text="Of one process alone, by its rank; the lowest, if not given.")
STREAM = ChoiceFilter(Log.Stream, help_text="stdout, if not given.")
OFFSET = IntegerFilter(help_text="The first byte; without it, the end of the log is shown.")
WAIT = BoundedFilter(
    20,
    1,
    help_text="Wait so many seconds for something at `offset`, or for the first that the job "
    "prints: how to follow a log.",
)


class LogToFollow(HttpResponse):
    """Not for a client: what to wait for, at most for `wait_s`, before asking again."""

    def __init__(self, caller: Caller, log_id: int, offset: int, wait_s: float) -> None:
        super().__init__()
        self.caller, self.log_id, self.offset, self.wait_s = caller, log_id, offset, wait_s


class FirstLogToFollow(HttpResponse):
    """Not for a client: wait until the job has more than `known` logs, or is over."""

    def __init__(self, caller: Caller, job_id: int, known: int, wait_s: float) -> None:
        super().__init__()
        self.caller, self.job_id, self.known, self.wait_s = caller, job_id, known, wait_s


class JobLogsView(JSONView):
    """What a job prints. Streams are kept up to a cap; the agent says what it left out."""

    resource = "job_logs"
    rights = {"get": "job_logs.read"}
    output = LogOut
    query_parameters = {
        "get": {
            "attempt": ATTEMPT,
            "node": NODE,
            "stream": STREAM,
            "rank": RANK,
            "offset": OFFSET,
            "limit": LIMIT,
            "wait_s": WAIT,
        }
    }

    def get(self, request: Request, job_id: str) -> HttpResponse:
        asked = self.query()
        job = selectors.jobs(self.caller).filter(pk=int(job_id)).first()
        if job is None:
            raise NotFound
        streams = list(logs(self.caller, job))
        waiting = _to_wait_for(self.caller, job, streams, asked) if "wait_s" in asked else None
        if waiting is not None and request.META.get(WAITS_ITSELF) == "yes":
            return waiting
        if waiting is not None and WAITS_ITSELF not in request.META:
            streams = _waited(self.caller, job, streams, asked)
        log = _chosen(streams, asked)
        if log is None:
            raise NotFound("The job has printed nothing there yet.", code="no_log")
        return respond(Answer(_shown(job, log, streams, asked)))


def _to_wait_for(
    caller: Caller, job: Job, streams: list[Log], asked: dict[str, Any]
) -> LogToFollow | FirstLogToFollow | None:
    """Nothing, where there is something to show, or nothing can come any more."""
    log = _chosen(streams, asked)
    if log is None:
        over = job.state in TERMINAL
        return None if over else FirstLogToFollow(caller, job.pk, len(streams), asked["wait_s"])
    if "offset" not in asked or _more(log, asked["offset"]):
        return None
    return LogToFollow(caller, log.pk, asked["offset"], asked["wait_s"])


def _waited(caller: Caller, job: Job, streams: list[Log], asked: dict[str, Any]) -> list[Log]:
    """The job's logs, once it has been waited for what was asked."""
    log = _chosen(streams, asked)
    if log is None:
        return wait_for_first(caller, job, asked)
    wait_for_more(log, asked["offset"], asked["wait_s"])
    return streams


def _shown(job: Job, log: Log, streams: list[Log], asked: dict[str, Any]) -> LogOut:
    limit = asked.get("limit", LIMIT.default)
    found = page(log, offset=asked.get("offset", max(0, log.size - limit)), limit=limit)
    return show(
        LogOut,
        log,
        job_id=job.pk,
        offset=found.offset,
        next_offset=found.next_offset,
        text=found.text,
        streams=streams,
    )


def _chosen(streams: list[Log], asked: dict[str, Any]) -> Log | None:
    names = {"attempt": "number", "node": "node_name", "stream": "stream", "rank": "rank"}
    wanted = {names[name]: asked[name] for name in names if name in asked}
    for log in streams:
        if all(getattr(log, name) == value for name, value in wanted.items()):
            return log
    return None


def wait_for_first(caller: Caller, job: Job, asked: dict[str, Any], **clocks: Any) -> list[Log]:
    """Until there is a log such as was asked for, or the job is over."""
    streams: list[Log] = []

    def there() -> bool:
        job.refresh_from_db(fields=["state"])
        streams[:] = logs(caller, job)
        return job.state in TERMINAL or _chosen(streams, asked) is not None

    _wait_until(there, asked["wait_s"], **clocks)
    return streams


def wait_for_more(log: Log, offset: int, longest_s: float, **clocks: Any) -> None:
    def grown() -> bool:
        log.refresh_from_db(fields=["size", "closed"])
        return _more(log, offset)

    _wait_until(grown, longest_s, **clocks)


def _wait_until(
    there: Callable[[], bool],
    longest_s: float,
    *,
    slots: Slots = SLOTS,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Holds one of the process's few places, like a stream of events."""
    end_s = clock() + longest_s
    slot = slots.take(clock())
    try:
        while clock() < end_s and not there():
            pause(POLL_S)
    finally:
        slots.free(slot)


def _more(log: Log, offset: int) -> bool:
    return log.closed or log.size > offset
