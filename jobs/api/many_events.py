"""Events of all jobs that a caller sees: a list to page through, or a stream to follow."""

from collections.abc import Iterator
from typing import Any

import msgspec
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from clusters.models import Cluster
from jobs import selectors
from jobs.api import structs
from jobs.api.event_stream import (
    ALIVE,
    BATCH,
    WAITS_ITSELF,
    ServedStream,
    frame,
    scope_of,
    stream_response,
)
from jobs.api.events import EventSchema, StreamRenderer, last_event_id
from jobs.api.filters import LabelFilter, NamedFilter
from jobs.horizon import LOOK, Horizon, Look
from jobs.models import Job, JobEvent
from rest.filters import ChoiceFilter, IntegerFilter, ListFilter, read_parameters
from rest.json import JSONRenderer
from rest.problems import NotFound
from rest.structs import show
from rest.views import ListMixin
from tenancy import rls
from tenancy.callers import Caller
from tenancy.models import Tenant


class EventSelection(msgspec.Struct, frozen=True):
    """Which events a stream tells; the names are those of the list's filters."""

    cluster: str | None = None
    tenant: str | None = None
    state: frozenset[str] = frozenset()
    label: str | None = None
    array: int | None = None

    def wants(self, event: structs.JobEventOut) -> bool:
        name, _, value = (self.label or "").partition("=")
        return (
            self.cluster in {None, event.cluster}
            and self.tenant in {None, event.tenant}
            and (not self.state or event.to_state in self.state)
            and self.array in {None, event.array_id}
            and (self.label is None or event.labels.get(name) == value)
        )


class ManyEventsToFollow(HttpResponse):
    """Not for a client: what a stream is to tell; None is from now on."""

    def __init__(self, caller: Caller, selection: EventSelection, after: int | None) -> None:
        super().__init__()
        self.caller, self.selection, self.after = caller, selection, after


def many_frame(event: structs.JobEventOut) -> bytes:
    return frame(event.id, event)


def place_frame(after: int) -> bytes:
    """Up to where there is nothing to tell: who comes back need not look there again."""
    return b"%bid: %d\n\n" % (ALIVE[:-1], after)


class ManyEventStream(ServedStream):
    """Served by a thread of the API, like the stream of one job."""

    def __init__(self, wanted: ManyEventsToFollow, **more: Any) -> None:
        super().__init__(**more)
        self._wanted, self._horizon = wanted, Horizon()
        self._after = wanted.after

    def frames(self) -> Iterator[bytes]:
        settled = self._horizon.take(_look())
        if self._after is None or self._after > settled:
            # From now on; or from a place that this database has not come to, which no wait mends.
            self._after = settled
            yield self.alive()
        events = _news(self._wanted.caller, self._after, settled)
        self._after = events[-1].id if len(events) == BATCH else settled
        yield from map(many_frame, filter(self._wanted.selection.wants, events))

    def alive(self) -> bytes:
        return place_frame(self._after or 0)


def _look() -> Look:
    with rls.scope(rls.ALL), connection.cursor() as cursor:
        cursor.execute(LOOK)
        return Look(*cursor.fetchone())


def _news(caller: Caller, after: int, settled: int) -> list[structs.JobEventOut]:
    with rls.scope(scope_of(caller)):
        rows = selectors.events(caller).filter(pk__gt=after, pk__lte=settled).order_by("pk")
        return [show(structs.JobEventOut, row) for row in rows[:BATCH]]


class ManyEventsSchema(EventSchema):
    about = (
        "Of a stream: the last id that was received; what came after it follows. Without it the "
        "stream begins now."
    )


class EventViewSet(ListMixin):
    """Moves of all jobs: a tenant's own, an operator's everywhere or in one cluster.

    Ask for `text/event-stream` to follow them as they happen.
    """

    resource = "events"
    rights = {"list": "job_events.read"}
    output = structs.JobEventOut
    filters = {
        "cluster": NamedFilter(Cluster, "job__cluster"),
        "tenant": NamedFilter(Tenant, "tenant"),
        "state": ListFilter(
            ChoiceFilter(Job.State, field_name="to_state"),
            help_text="Moves to one state, or to several with commas between.",
        ),
        "label": LabelFilter("job__labels"),
        "array": IntegerFilter("job__array"),
    }
    renderer_classes = (JSONRenderer, StreamRenderer)
    schema = ManyEventsSchema()
    summaries = {"list": "List or follow the events of all jobs"}

    def rows(self) -> QuerySet[JobEvent]:
        return selectors.events(self.caller)

    def list(self, request: Request, **kwargs: Any) -> HttpResponse:
        after = last_event_id(request)
        if isinstance(request.accepted_renderer, StreamRenderer):
            return self._stream(after)  # type: ignore[return-value]
        return super().list(request, **kwargs)

    def _stream(self, after: int | None) -> HttpResponseBase:
        asked = read_parameters(self.request, self.list_filters())
        _known(asked.get("cluster"))
        selection = msgspec.convert(asked, EventSelection)
        wanted = ManyEventsToFollow(self.caller, selection, after)
        return (
            wanted
            if WAITS_ITSELF in self.request.META
            else stream_response(ManyEventStream(wanted))
        )


def _known(cluster: str | None) -> None:
    """Nobody waits for the events of a name that was mistyped."""
    if cluster is not None and not Cluster.objects.filter(name=cluster).exists():
        raise NotFound("There is no such cluster.", code="unknown_cluster")
