"""What an answer of the service means to the agent."""

import asyncio

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
from agent.wire import AttemptRef, Code, Problem, encode
from tests.agent import messages

STALE = (AttemptRef(7, 70),)


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (409, Problem(Code.STALE_EPOCH), FencedError),
        (409, Problem(Code.STALE_FENCE, stale=STALE), StaleAttemptsError),
        (409, Problem("in_flight"), UnavailableError),
        (401, Problem("unauthenticated"), NotAdmittedError),
        (403, Problem(), NotAdmittedError),
        (400, Problem("invalid"), RefusedError),
        (413, Problem("too_large"), RefusedError),
        (422, Problem(), RefusedError),
        (429, Problem(), UnavailableError),
        (500, Problem(Code.STALE_EPOCH), UnavailableError),
        (503, Problem(), UnavailableError),
    ],
)
def test_a_refusal_is_one_of_a_few_troubles(
    status: int, problem: Problem, kind: type[Exception]
) -> None:
    assert type(trouble(status, encode(problem), {})) is kind


def test_the_stale_attempts_are_named() -> None:
    found = trouble(409, encode(Problem(Code.STALE_FENCE, stale=STALE)), {})
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
