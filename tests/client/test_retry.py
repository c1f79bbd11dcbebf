"""From a call to its answer, step by step, without a network: the driver is this test."""

from collections.abc import Callable, Sequence
from typing import Any

import fairwatt
import msgspec
import pytest
from fairwatt.call import Call, Flow, NextLine, Open, Pause, Reply, Send, delete, get, patch, post
from fairwatt.conversation import Conversation
from fairwatt.errors import Unreachable
from fairwatt.feeds.events import EventFeed, ManyEventFeed
from fairwatt.feeds.logs import LogFeed
from fairwatt.retry import Retry, Rules, ask, backoff_s
from fairwatt.structs.tenancy import Me

URL = "http://service"
GONE = Unreachable("nobody listens there")
ME = {
    "token_id": 1,
    "token_name": "t",
    "role": "admin",
    "tenant_id": 2,
    "tenant_name": "acme",
    "suspended": False,
    "expires_at": None,
    "rights": [],
    "service_version": "0.1.0",
}


def problem(status: int, code: str, **more: Any) -> Reply:
    body = {"status": status, "code": code, "detail": "Words.", "request_id": "r-1", **more}
    return Reply(status, more.pop("headers", {}), msgspec.json.encode(body))


def answer(value: Any, status: int = 200) -> Reply:
    return Reply(status, {}, msgspec.json.encode(value))


class Driver:
    """Answers each request with the next of `replies`; pauses let the clock run."""

    def __init__(self, replies: Sequence[Reply | Unreachable]) -> None:
        self._replies = list(replies)
        self.sent: list[Call[Any]] = []
        self.paused: list[float] = []
        self.told: list[Retry] = []
        self.now_s = 0.0

    def rules(self, patience_s: float = 20.0) -> Rules:
        return Rules(URL, patience_s=patience_s, on_retry=self.told.append, clock=self._clock)

    def _clock(self) -> float:
        return self.now_s

    def run(self, flow: Flow[Any]) -> Any:
        talk, outcome = Conversation(flow), None
        while (step := talk.proceed(outcome)) is not None:
            outcome = self._perform(step)
        return talk.result

    def _perform(self, step: Any) -> Any:
        if isinstance(step, Pause):
            self.paused.append(step.seconds)
            self.now_s += step.seconds
            return None
        assert isinstance(step, Send)
        self.sent.append(step.call)
        return self._replies.pop(0)


def asked(call: Call[Any], *replies: Reply | Unreachable, patience_s: float = 20.0) -> Driver:
    driver = Driver(replies)
    driver.result = driver.run(ask(call, driver.rules(patience_s)))  # type: ignore[attr-defined]
    return driver


def test_an_answer_is_read_as_its_type() -> None:
    done = asked(get("me/", Me), answer({**ME, "of a newer service": 1}))
    assert done.result.tenant_name == "acme"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "trouble", [GONE, problem(503, "not_ready"), problem(429, "throttled"), Reply(502, {}, b"<h>")]
)
def test_passing_trouble_is_waited_out(trouble: Reply | Unreachable) -> None:
    done = asked(get("me/", Me), trouble, trouble, answer(ME))
    assert len(done.sent) == 3
    assert len(done.paused) == len(done.told) == 2


def test_a_post_is_repeated_with_the_same_key() -> None:
    done = asked(post("jobs/", dict), GONE, answer({}))
    first, second = (call.headers["Idempotency-Key"] for call in done.sent)
    assert first == second


def test_a_twin_that_is_still_running_is_waited_for() -> None:
    done = asked(post("jobs/", dict, key="k"), problem(409, "idempotency_in_flight"), answer({}))
    assert [call.headers["Idempotency-Key"] for call in done.sent] == ["k", "k"]


@pytest.mark.parametrize("call", [patch("jobs/1/", dict, {}, version=None), delete("x/1/")])
def test_what_has_no_key_is_not_sent_twice(call: Call[Any]) -> None:
    with pytest.raises(Unreachable):
        asked(call, GONE)


def test_the_service_says_how_long_to_wait() -> None:
    busy = problem(503, "too_many_streams", headers={"retry-after": "5"})
    busy = Reply(503, {"retry-after": "5"}, busy.body)
    assert asked(get("me/", Me), busy, answer(ME)).paused == [5.0]


def test_patience_ends() -> None:
    with pytest.raises(Unreachable):
        asked(get("me/", Me), *[GONE] * 100, patience_s=3.0)


def test_pauses_grow_and_are_bounded() -> None:
    assert 0.1 <= backoff_s(0) <= 0.2
    assert 2.5 <= backoff_s(50) <= 5.0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, fairwatt.Invalid),
        (401, fairwatt.NotLoggedIn),
        (403, fairwatt.Forbidden),
        (404, fairwatt.NotFound),
        (409, fairwatt.Conflict),
        (412, fairwatt.Stale),
        (422, fairwatt.Invalid),
        (500, fairwatt.ServiceFault),
        (418, fairwatt.Refused),
    ],
)
def test_a_refusal_keeps_code_pointers_and_request(
    status: int, kind: type[fairwatt.Refused]
) -> None:
    fault = {"pointer": "/gpus", "code": "max_value", "detail": "At most 4096."}
    with pytest.raises(kind) as caught:
        asked(get("jobs/7/", dict), problem(status, "some_code", errors=[fault]))
    error = caught.value
    assert (error.status, error.code, error.request_id) == (status, "some_code", "r-1")
    assert [(each.pointer, each.code) for each in error.faults] == [("/gpus", "max_value")]
    assert str(error) == "/gpus: At most 4096."
    assert bool(error.next_step) == (status != 418)


@pytest.mark.parametrize("reply", [Reply(200, {}, b"<html>"), Reply(404, {}, b"<html>")])
def test_another_program_at_the_address_is_said_so(reply: Reply) -> None:
    with pytest.raises(fairwatt.NotFairwatt, match="No Fairwatt API at http://service"):
        asked(get("me/", Me), reply)


@pytest.mark.parametrize("reply", [answer({"name": "old"}), problem(404, "not_found")])
def test_an_older_service_is_said_so(reply: Reply) -> None:
    with pytest.raises(fairwatt.ServerTooOld) as caught:
        asked(get("me/", Me), reply)
    assert "Upgrade the service" in caught.value.next_step


def test_the_version_of_an_older_service_is_said() -> None:
    told = Reply(200, {"fairwatt-version": "0.0.9"}, b"{}")
    with pytest.raises(fairwatt.ServerTooOld, match=r"is version 0\.0\.9; this client needs 0"):
        asked(get("me/", Me), told)
    newer = Reply(200, {"fairwatt-version": "0.10.0"}, msgspec.json.encode(ME))
    driver = Driver([newer])
    assert driver.run(ask(get("me/", Me), driver.rules())).role == "admin"


EVENT = {
    "id": 5,
    "job_id": 1,
    "at": "2026-02-01T09:30:00Z",
    "from_state": None,
    "to_state": "succeeded",
    "reason": "exit_0",
    "round_id": None,
    "attempt": 1,
    "detail": None,
}


def test_without_a_free_stream_the_events_are_listed() -> None:
    class Streams(Driver):
        def _perform(self, step: Any) -> Any:
            if hasattr(step, "call") and "Last-Event-ID" in step.call.headers:
                return problem(503, "too_many_streams")
            return super()._perform(step)

    driver = Streams(
        [answer({"items": [], "next": None}), answer({"items": [EVENT], "next": None})]
    )
    feed = EventFeed(1, driver.rules())
    assert driver.run(feed.more()) == []
    (event,) = driver.run(feed.more())
    assert (event.id, feed.ended) == (5, True)
    assert driver.paused == [1.0, 1.0]


def test_a_watch_goes_on_after_the_last_block_that_came_whole() -> None:
    more: dict[str, Any] = {
        "name": "train",
        "tenant": "acme",
        "cluster": "demo",
        "array_id": None,
        "labels": {},
    }
    data = f"data: {msgspec.json.encode({**EVENT, **more}).decode()}"
    opened: list[str | None] = []
    lines = [":", "id: 4", "", "id: 5", None, "id: 5", data, ""]

    class Streams(Driver):
        def _perform(self, step: Any) -> Any:
            if isinstance(step, NextLine):
                return lines.pop(0)
            if isinstance(step, Open):
                opened.append(step.call.headers.get("Last-Event-ID"))
                return Reply(200, {}, b"")
            return super()._perform(step)

    driver = Streams([])
    feed = ManyEventFeed(driver.rules(), after=None, query={"state": "succeeded"})
    assert driver.run(feed.more()) == []
    (event,) = driver.run(feed.more())
    assert (event.id, event.name, feed.after) == (5, "train", 5)
    # The line broke after an id whose event had not come: it is asked for again.
    assert opened == [None, "4"]


def test_a_log_is_waited_for_before_the_job_prints() -> None:
    nothing, queued = problem(404, "no_log"), answer(_job("queued"))
    driver = Driver([nothing, nothing, queued, page("", 0, stream(2, True))])
    feed = LogFeed(1, driver.rules())
    (job,) = driver.run(feed.more())
    assert job.state == "queued"
    assert driver.run(feed.more()) == []
    assert [call.query.get("wait_s") for call in driver.sent] == [None, 2, None, 2]
    # The first answer came at once, as from a service that waits for nobody.
    assert driver.paused == [0.5]


def stream(size: int, closed: bool, name: str = "stdout", attempt: int = 1) -> dict[str, Any]:
    return {"attempt": attempt, "node": "n", "stream": name, "size": size, "closed": closed}


def page(text: str, next_offset: int, *streams: dict[str, Any]) -> Reply:
    first = streams[0]
    more = {"job_id": 1, "offset": 0, "next_offset": next_offset, "text": text}
    return answer({**first, **more, "streams": list(streams)})


def test_a_log_is_read_to_its_end_from_every_attempt_in_order() -> None:
    streams = [stream(3, True, attempt=2), stream(2, True, "stderr"), stream(4, True)]
    driver = Driver(
        [
            page("", 0, *streams),
            page("one\n", 4, *streams),
            page("e\n", 2, *streams),
            page("two", 3, *streams),
        ]
    )
    feed = LogFeed(1, driver.rules(), follow=False)
    texts: list[str] = []
    while not feed.over:
        texts += [chunk.text for chunk in driver.run(feed.more())]
    assert texts == ["one\n", "e\n", "two"]
    asked_for = [(call.query["attempt"], call.query["stream"]) for call in driver.sent[1:]]
    assert asked_for == [(1, "stdout"), (1, "stderr"), (2, "stdout")]


def test_all_places_taken_a_log_is_polled() -> None:
    open_log, closed_log = stream(2, False), stream(4, True)
    job = msgspec.json.encode(_job("succeeded"))
    driver = Driver(
        [
            page("", 0, open_log),
            page("a\n", 2, open_log),
            problem(503, "too_many_streams"),
            page("", 0, closed_log),
            page("b\n", 4, closed_log),
            page("", 0, closed_log),
            Reply(200, {}, job),
        ]
    )
    feed = LogFeed(1, driver.rules())
    seen: list[Any] = []
    while not feed.over:
        seen += driver.run(feed.more())
    assert [getattr(each, "text", None) for each in seen] == ["a\n", "b\n", None]


def _job(state: str) -> dict[str, Any]:
    made: Callable[..., Any] = msgspec.structs.fields
    values: dict[str, Any] = {}
    for each in made(fairwatt.structs.jobs.JobDetail):
        values[each.name] = _some(str(each.type))
    return {**values, "state": state, "reason": "exit_0"}


def _some(kind: str) -> Any:
    for word, value in (("None", None), ("dict", {}), ("list", []), ("datetime", EVENT["at"])):
        if word in kind:
            return value
    return "0" if "Decimal" in kind else 0 if "int" in kind or "float" in kind else (
        False if "bool" in kind else "text"
    )  # fmt: skip
