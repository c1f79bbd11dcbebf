"""A job's events: a list, and a stream that resumes, breathes, ends and gives way."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import OperationalError

from jobs.api import event_stream
from jobs.api.event_stream import EventStream, Slots
from jobs.lifecycle import State, advance
from jobs.models import Job, JobEvent
from rest.problems import Problem
from scheduler_service.factories import NOW
from tenancy import rls
from tests.api import Api
from tests.jobs.conftest import JOBS, Submit, World

pytestmark = pytest.mark.django_db
SSE = {"Accept": "text/event-stream"}


def place(job: Job) -> None:
    advance(
        [job.pk],
        sources=[State.QUEUED],
        to=State.PLACED,
        reason="placed",
        now=NOW,
        detail={"round": 7},
    )


def finish(job: Job) -> None:
    advance([job.pk], sources=[State.QUEUED], to=State.CANCELLED, reason="test", now=NOW)


def events_url(job: Job) -> str:
    return f"{JOBS}{job.pk}/events/"


def test_events_are_listed_newest_first(member: Api, submit: Submit) -> None:
    job = submit()
    submit()
    place(job)
    items = member.get(events_url(job)).json()["items"]
    assert [(item["from_state"], item["to_state"]) for item in items] == [
        ("queued", "placed"),
        (None, "queued"),
    ]
    assert [item["round_id"] for item in items] == [7, None]
    assert {item["job_id"] for item in items} == {job.pk}
    page = member.get(f"{events_url(job)}?ordering=id&limit=1").json()
    rest = member.get(f"{events_url(job)}?ordering=id&limit=1&cursor={page['next']}").json()
    assert [page["items"][0]["id"], rest["items"][0]["id"]] == [items[1]["id"], items[0]["id"]]


def test_another_tenants_events_do_not_exist(stranger: Api, submit: Submit) -> None:
    job = submit()
    assert stranger.get(events_url(job)).status_code == 404
    assert stranger.get(events_url(job), headers=SSE).status_code == 404


@dataclass
class Time:
    """Passes only when somebody pauses; what happens in a pause is up to the test."""

    now_s: float = 0.0
    paused: int = 0
    meanwhile: dict[int, Any] = field(default_factory=dict)

    def clock(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.paused += 1
        self.now_s += seconds
        self.meanwhile.pop(self.paused, lambda: None)()


def stream(
    world: World, job: Job, time: Time, after: int = 0, slots: Slots | None = None
) -> EventStream:
    return EventStream(
        world.caller(), job.pk, after, slots=slots or Slots(1), clock=time.clock, pause=time.pause
    )


def parsed(chunks: Iterator[bytes]) -> list[dict[str, Any]]:
    """The data of each event; its id must be the line's id."""
    found = []
    for chunk in chunks:
        lines = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
        if "data" in lines:
            body = json.loads(lines["data"])
            assert int(lines["id"]) == body["id"]
            found.append(body)
    return found


def test_the_stream_tells_the_past_and_what_happens_next(submit: Submit, world: World) -> None:
    job = submit()
    time = Time(meanwhile={3: lambda: place(job)})
    seen = parsed(stream(world, job, time))
    assert [event["to_state"] for event in seen] == ["queued", "placed"]


def test_it_lasts_for_its_window_and_breathes(submit: Submit, world: World) -> None:
    time = Time()
    chunks = list(stream(world, submit(), time))
    assert chunks[0].startswith(b"retry: ")
    assert event_stream.WINDOW_S <= time.now_s < event_stream.WINDOW_S + 1
    assert chunks.count(b": alive\n\n") == 4


def test_it_resumes_after_the_last_event_received(submit: Submit, world: World) -> None:
    job = submit()
    first = JobEvent.objects.get(job=job)
    place(job)
    seen = parsed(stream(world, job, Time(), after=first.pk))
    assert [event["to_state"] for event in seen] == ["placed"]


def test_it_ends_with_the_job(submit: Submit, world: World) -> None:
    job = submit()
    time = Time(meanwhile={2: lambda: finish(job)})
    seen = parsed(stream(world, job, time))
    assert seen[-1]["to_state"] == "cancelled"
    assert time.paused == 2


def test_it_opens_the_scope_of_its_caller_and_closes_it(submit: Submit, world: World) -> None:
    """The middleware has closed the request's scope before the first byte is asked for."""
    job = submit()
    with rls.scope(rls.NONE):
        assert not JobEvent.objects.exists()
        assert len(parsed(stream(world, job, Time()))) == 1
        foreign = EventStream(
            world.caller(world.theirs),
            job.pk,
            0,
            slots=Slots(1),
            clock=Time().clock,
            pause=Time().pause,
        )
        next(foreign)
        assert event_stream.news(world.caller(world.theirs), job.pk, 0) == []
        assert not JobEvent.objects.exists()


def test_streams_are_few_and_give_their_place_back(submit: Submit, world: World) -> None:
    job, slots, time = submit(), Slots(2), Time()
    one, _two = (stream(world, job, time, slots=slots) for _ in range(2))
    with pytest.raises(Problem) as refused:
        stream(world, job, time, slots=slots)
    assert (refused.value.status_code, refused.value.code) == (503, "too_many_streams")
    assert refused.value.headers["Retry-After"]
    one.close()
    one.close()
    third = stream(world, job, time, slots=slots)
    with pytest.raises(Problem):
        stream(world, job, time, slots=slots)
    # One that nobody closed counts for no longer than it could have lasted.
    time.now_s += event_stream.WINDOW_S
    stream(world, job, time, slots=slots)
    third.close()


def test_over_http(member: Api, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "SLOTS", Slots(1))
    job = submit()
    finish(job)
    answer = member.get(events_url(job), headers=SSE)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/event-stream"
    assert answer["Cache-Control"] == "no-cache"
    seen = parsed(iter(answer.streaming_content))
    assert [event["to_state"] for event in seen] == ["queued", "cancelled"]
    last = seen[-1]["id"]
    over = member.get(events_url(job), headers={**SSE, "Last-Event-ID": str(last)})
    assert (over.status_code, over.content) == (204, b"")


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 19, ""])
def test_a_bad_last_event_id_is_refused(member: Api, submit: Submit, given: str) -> None:
    url = events_url(submit())
    for headers in (SSE, {}):
        answer = member.get(url, headers={**headers, "Last-Event-ID": given})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == "Last-Event-ID"
        assert answer["Content-Type"] == "application/problem+json"


def test_a_database_that_goes_away_ends_the_stream(
    submit: Submit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit()

    def broken(*_: Any) -> Any:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(event_stream, "news", broken)
    assert list(stream(world, job, Time())) == [b"retry: 1000\n\n"]
