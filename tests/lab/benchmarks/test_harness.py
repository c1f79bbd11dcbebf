"""A benchmark whose job has failed ends at once, with the job's end and what it printed."""

from datetime import timedelta

import httpx
import pytest
from django.test import Client

from agent.wire import LogPiece, Logs, Stream
from engines.agents.log_intake import logs_take
from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt
from lab.benchmarks.harness import jobs, waiting
from lab.benchmarks.harness.jobs import BenchmarkJobFailed, raise_if_failed
from lab.benchmarks.harness.waiting import until
from scheduler_service.factories import NOW
from tenancy.callers import SYSTEM
from tenancy.roles import Role
from tenancy.tokens import token_create
from tests.energy.ledger.attempts import Metered
from tests.energy.telemetry.readings import sender

pytestmark = pytest.mark.django_db


@pytest.fixture
def http() -> httpx.Client:
    """An operator, at the service itself in this transaction."""
    secret = token_create(SYSTEM, name="bench", role=Role.OPERATOR).secret
    service = Client(headers={"Authorization": f"Bearer {secret}"})

    def answer(request: httpx.Request) -> httpx.Response:
        got = service.get(request.url.raw_path.decode())
        return httpx.Response(got.status_code, content=got.content)

    return httpx.Client(transport=httpx.MockTransport(answer), base_url="http://testserver")


@pytest.fixture
def job() -> Metered:
    return Metered.place()


def fail(job: Metered) -> None:
    """As an agent says it: what was printed, and the end."""
    wanted = job.wanted
    printed = tuple(
        LogPiece(wanted.attempt_id, wanted.fence, stream, 0, text, True)
        for stream, text in ((Stream.STDOUT, b"step 1\n"), (Stream.STDERR, b"no data at /mnt\n"))
    )
    logs_take(sender(job.agent.node), Logs(job.agent.epoch, printed), now=NOW)
    now = NOW + timedelta(minutes=1)
    attempts_end([wanted.attempt_id], state=Attempt.State.ENDED, reason="exit_1", now=now)
    advance(
        [job.job.pk], sources=[State.PLACED, State.RUNNING], to=State.FAILED, reason="exit_1",
        now=now,
    )  # fmt: skip


def test_a_running_job_is_no_failure(http: httpx.Client, job: Metered) -> None:
    raise_if_failed(http)


def test_a_failed_job_is_told_with_its_end_and_its_log(http: httpx.Client, job: Metered) -> None:
    fail(job)
    with pytest.raises(BenchmarkJobFailed) as told:
        raise_if_failed(http)
    text = str(told.value)
    assert f"job {job.job.pk} {job.job.name!r} has failed at 2026-01-05T12:01:00Z: exit_1" in text
    assert "the end of its stdout:\nstep 1\n" in text
    assert "the end of its stderr:\nno data at /mnt" in text


def test_a_job_that_printed_nothing_is_told_without_a_log(
    http: httpx.Client, job: Metered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LOG_WAIT_S", 0.0)
    advance([job.job.pk], sources=[State.PLACED], to=State.FAILED, reason="lost", now=NOW)
    with pytest.raises(BenchmarkJobFailed, match="it printed nothing to stderr"):
        raise_if_failed(http)


def test_waiting_ends_when_a_job_fails(
    http: httpx.Client, job: Metered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "CHECK_EVERY_S", 0.0)
    calls = 0

    def never() -> bool:
        nonlocal calls
        calls += 1
        if calls == 3:
            fail(job)
        return False

    with pytest.raises(BenchmarkJobFailed, match="exit_1"):
        until(never, "the job has succeeded", jobs_at=http, pause_s=0.0)
    assert calls == 3


def test_waiting_ends_when_it_takes_too_long() -> None:
    with pytest.raises(TimeoutError, match="waited 0 s until the sun rises"):
        until(lambda: False, "the sun rises", longest_s=0.0, pause_s=0.0)
