"""A job's events: a list to page through, or a stream to follow."""

import re
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from jobs import selectors
from jobs.api import structs
from jobs.api.event_stream import (
    CONTENT_TYPE,
    WAITS_ITSELF,
    EventsToFollow,
    EventStream,
    frame,
    news,
    stream_response,
)
from jobs.lifecycle import TERMINAL
from jobs.models import Job, JobEvent
from rest.json import JSONRenderer
from rest.problems import Invalid, NotFound
from rest.schema import AutoSchema
from rest.structs import node_of
from rest.views import ListMixin

LAST_EVENT_ID = "Last-Event-ID"


class StreamRenderer(BaseRenderer):
    """Only takes part in negotiation; the stream writes itself."""

    media_type = CONTENT_TYPE
    format = "sse"


class EventSchema(AutoSchema):
    """Adds the stream to what the list answers."""

    about = "Of a stream: the last id that was received; what came after it follows."

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses = super()._get_response_bodies(direction)
        event = node_of(self.view.output).example()
        example = frame(event["id"], event).decode()
        content = responses["200"]["content"]
        content[CONTENT_TYPE] = {"schema": {"type": "string"}, "example": example}
        return responses

    def _get_parameters(self) -> list[dict[str, Any]]:
        return [
            *super()._get_parameters(),
            {
                "name": LAST_EVENT_ID,
                "in": "header",
                "required": False,
                "description": self.about,
                "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
            },
        ]


class JobEventSchema(EventSchema):
    """The stream of one job ends with the job."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        ended = "The job has ended and there is nothing after Last-Event-ID: do not come back."
        return {**super()._get_response_bodies(direction), "204": {"description": ended}}


class JobEventViewSet(ListMixin):
    """Moves of one job. Ask for `text/event-stream` to follow them as they happen."""

    resource = "job_events"
    rights = {"list": "job_events.read"}
    output = structs.EventOut
    renderer_classes = (JSONRenderer, StreamRenderer)
    schema = JobEventSchema()

    def rows(self) -> QuerySet[JobEvent]:
        return selectors.job_events(self.caller, self._job().pk)

    def list(self, request: Request, **kwargs: Any) -> HttpResponse:
        after = last_event_id(request) or 0
        if isinstance(request.accepted_renderer, StreamRenderer):
            return self._stream(after)  # type: ignore[return-value]
        return super().list(request, **kwargs)

    def _stream(self, after: int) -> HttpResponseBase:
        job = self._job()
        if job.state in TERMINAL and not news(self.caller, job.pk, after):
            return HttpResponse(status=204)
        if WAITS_ITSELF in self.request.META:
            return EventsToFollow(self.caller, job.pk, after)
        return stream_response(EventStream(self.caller, job.pk, after))

    def _job(self) -> Job:
        job = selectors.jobs(self.caller).filter(pk=int(self.kwargs["job_id"])).first()
        if job is None:
            raise NotFound
        return job


def last_event_id(request: Request) -> int | None:
    given = request.META.get("HTTP_LAST_EVENT_ID")
    if given is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", given):
        detail = "Send the id of the last event you received, a whole number."
        raise Invalid.at(LAST_EVENT_ID, "invalid_last_event_id", detail)
    return int(given)
