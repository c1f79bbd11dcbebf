"""A job's logs over HTTP: the end of them, any part of them, or what comes next."""

import time
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from jobs import selectors
from jobs.api.event_stream import SLOTS, Slots
from jobs.api.filters import BoundedFilter
from jobs.api.structs import LogOut
from jobs.logs import logs, page
from jobs.models import Job, Log
from rest.filters import ChoiceFilter, IntegerFilter, TextFilter
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, respond

POLL_S = 0.5
LIMIT = BoundedFilter(1024 * 1024, 64 * 1024, help_text="Bytes at most.")
ATTEMPT = IntegerFilter(help_text="The attempt's number; the newest that printed, if not given.")
NODE = TextFilter(help_text="The node's name, of a gang; the first, if not given.")
STREAM = ChoiceFilter(Log.Stream, help_text="stdout, if not given.")
OFFSET = IntegerFilter(help_text="The first byte; without it, the end of the log is shown.")
WAIT = BoundedFilter(
    20, 1, help_text="Wait so many seconds for something at `offset`: how to follow a log."
)


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
        log = _chosen(streams, asked)
        if "wait_s" in asked and "offset" in asked:
            wait_for_more(log, asked["offset"], asked["wait_s"])
        return respond(Answer(_shown(job, log, streams, asked)))


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


def _chosen(streams: list[Log], asked: dict[str, Any]) -> Log:
    names = {"attempt": "number", "node": "node_name", "stream": "stream"}
    wanted = {names[name]: asked[name] for name in names if name in asked}
    for log in streams:
        if all(getattr(log, name) == value for name, value in wanted.items()):
            return log
    raise NotFound("The job has printed nothing there yet.", code="no_log")


def wait_for_more(
    log: Log,
    offset: int,
    longest_s: float,
    *,
    slots: Slots = SLOTS,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Holds one of the process's few places, like a stream of events."""
    if _more(log, offset):
        return
    end_s = clock() + longest_s
    slot = slots.take(clock())
    try:
        while clock() < end_s and not _more(log, offset):
            pause(POLL_S)
            log.refresh_from_db(fields=["size", "closed"])
    finally:
        slots.free(slot)


def _more(log: Log, offset: int) -> bool:
    return log.closed or log.size > offset
