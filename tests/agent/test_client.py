"""What an answer of the service means to the agent."""

import asyncio
from queue import SimpleQueue

import pytest

from agent.talk.client import (
    FencedError,
    NotAdmittedError,
    RefusedError,
    ServiceClient,
    StaleAttemptsError,
    UnavailableError,
    trouble,
)
from agent.wire import AttemptRef, Code, ReportedProblem, encode
from tests.agent import messages
from tests.agent.service import NODE_TOKEN, Listener, ScriptedService

STALE = (AttemptRef(7, 70),)


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (409, ReportedProblem(Code.STALE_EPOCH), FencedError),
        (409, ReportedProblem(Code.STALE_FENCE, stale=STALE), StaleAttemptsError),
        (409, ReportedProblem("in_flight"), UnavailableError),
        (401, ReportedProblem("unauthenticated"), NotAdmittedError),
        (403, ReportedProblem(), NotAdmittedError),
        (400, ReportedProblem("invalid"), RefusedError),
        (413, ReportedProblem("too_large"), RefusedError),
        (422, ReportedProblem(), RefusedError),
        (429, ReportedProblem(), UnavailableError),
        (500, ReportedProblem(Code.STALE_EPOCH), UnavailableError),
        (503, ReportedProblem(), UnavailableError),
    ],
)
def test_a_refusal_is_one_of_a_few_troubles(
    status: int, problem: ReportedProblem, kind: type[Exception]
) -> None:
    assert type(trouble(status, encode(problem), {})) is kind


def test_the_stale_attempts_are_named() -> None:
    found = trouble(409, encode(ReportedProblem(Code.STALE_FENCE, stale=STALE)), {})
    assert isinstance(found, StaleAttemptsError)
    assert found.stale == STALE


@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b'{"code": 5}'])
def test_a_proxy_that_answers_in_its_own_words_fences_nobody(body: bytes) -> None:
    assert type(trouble(409, body, {})) is UnavailableError
    assert type(trouble(502, body, {})) is UnavailableError


@pytest.mark.parametrize(
    ("value", "retry_s"),
    [("3", 3.0), ("0", 0.0), ("999999", 60.0), ("-1", 0.0), ("Wed, 21 Oct 2026", None)],
)
def test_a_time_the_service_names_is_kept_within_reason(value: str, retry_s: float | None) -> None:
    found = trouble(503, b"", {"Retry-After": value})
    assert isinstance(found, UnavailableError)
    assert found.retry_s == retry_s


def test_nobody_there_is_unavailable() -> None:
    async def sync() -> None:
        client = ServiceClient("http://127.0.0.1:1", "fw_n_0123456789")
        try:
            await client.sync(messages.SYNC)
        finally:
            await client.close()

    with pytest.raises(UnavailableError, match="ConnectError"):
        asyncio.run(sync())


def heard(service: ScriptedService, most: int) -> list[bool]:
    """The first lines of the service's bell."""

    async def listen() -> list[bool]:
        client, rings = ServiceClient(listener.url, NODE_TOKEN), []
        try:
            async for rung in client.rings():
                rings.append(rung)
                if len(rings) == most:
                    break
        finally:
            await client.close()
        return rings

    with Listener(service) as listener:
        return asyncio.run(listen())


def test_a_bell_tells_rings_from_breaths() -> None:
    service = ScriptedService(bell=SimpleQueue())
    assert service.bell is not None
    for line in (b"ring\n", b"\n", b"ring\n", b""):
        service.bell.put(line)
    rings = heard(service, most=9)
    assert rings[0] is False
    assert any(rings)


def test_a_bell_that_is_silent_is_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-open: the other side is gone, and the network has not said so."""
    monkeypatch.setattr("agent.talk.client.BELL_SILENCE_S", 0.05)
    service = ScriptedService(bell=SimpleQueue())
    assert service.bell is not None
    with pytest.raises(UnavailableError, match="ReadTimeout"):
        heard(service, most=9)
    service.bell.put(b"")


def test_a_service_without_bells_says_so() -> None:
    with pytest.raises(RefusedError):
        heard(ScriptedService(), most=1)
