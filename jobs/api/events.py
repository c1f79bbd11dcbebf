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
from jobs.api.event_stream import CONTENT_TYPE, EventStream, frame, news, stream_response
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

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses = super()._get_response_bodies(direction)
        content = responses["200"]["content"]
        event = node_of(structs.EventOut).example()
        example = frame(event["id"], event).decode()
        content[CONTENT_TYPE] = {"schema": {"type": "string"}, "example": example}
        ended = "The job has ended and there is nothing after Last-Event-ID: do not come back."
        return {**responses, "204": {"description": ended}}

    def _get_parameters(self) -> list[dict[str, Any]]:
        about = "Of a stream: the last id that was received; what came after it follows."
        return [
            *super()._get_parameters(),
            {
                "name": LAST_EVENT_ID,
                "in": "header",
                "required": False,
                "description": about,
                "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
            },
        ]


class JobEventViewSet(ListMixin):
    """Moves of one job. Ask for `text/event-stream` to follow them as they happen."""

    resource = "job_events"
    rights = {"list": "job_events.read"}
    output = structs.EventOut
    renderer_classes = (JSONRenderer, StreamRenderer)
    schema = EventSchema()

    def rows(self) -> QuerySet[JobEvent]:
        return selectors.job_events(self.caller, self._job().pk)

    def list(self, request: Request, **kwargs: Any) -> HttpResponse:
        after = _last_event_id(request)
        if isinstance(request.accepted_renderer, StreamRenderer):
            return self._stream(after)  # type: ignore[return-value]
        return super().list(request, **kwargs)

    def _stream(self, after: int) -> HttpResponseBase:
        job = self._job()
        if job.state in TERMINAL and not news(self.caller, job.pk, after):
            return HttpResponse(status=204)
        return stream_response(EventStream(self.caller, job.pk, after))

    def _job(self) -> Job:
        job = selectors.jobs(self.caller).filter(pk=int(self.kwargs["job_id"])).first()
        if job is None:
            raise NotFound
        return job


def _last_event_id(request: Request) -> int:
    given = request.META.get("HTTP_LAST_EVENT_ID", "0")
    if not re.fullmatch(r"[0-9]{1,18}", given):
        detail = "Send the id of the last event you received, a whole number."
        raise Invalid.at(LAST_EVENT_ID, "invalid_last_event_id", detail)
    return int(given)
