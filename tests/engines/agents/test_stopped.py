"""Attempts that are stopped while an agent has not heard of them: they end all the same."""

import pytest

from agent.wire import AttemptReport
from agent.wire import State as WireState
from engines.agents.stopped import stopped_finish
from jobs.lifecycle import State, advance
from jobs.models import Allocation, Attempt, Job
from jobs.services.cancel import job_cancel
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def half_over() -> tuple[Agent, Job]:
    """One node ended its part of a gang before another fetched its own: that other, and the job."""
    cluster = make_cluster()
    first, second = join(cluster, "n1", gpus=1), join(cluster, "n2", gpus=1)
    (job,) = make_jobs(cluster, make_tenant(), 1, min_gpus=2, max_gpus=2)
    run_round(cluster.pk, now=NOW)
    (wanted,) = first.sync().attempts
    first.ended(wanted)
    first.sync()
    job.refresh_from_db()
    assert Attempt.objects.get().state == Attempt.State.STARTING
    return second, job


def _held() -> int:
    return Allocation.objects.filter(released_at=None).count()


def test_cancelled_it_is_over_and_its_gpus_are_free(half_over: tuple[Agent, Job]) -> None:
    late, job = half_over
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
    assert late.sync().attempts == ()
    assert _held() == 2

    assert stopped_finish(now=NOW) == 1

    job.refresh_from_db()
    assert (job.state, _held()) == (State.CANCELLED, 0)
    assert stopped_finish(now=NOW) == 0


def test_preempted_it_has_not_run_and_is_queued_again(half_over: tuple[Agent, Job]) -> None:
    _, job = half_over
    advance([job.pk], sources=[State.PLACED], to=State.PREEMPTING, reason="preempted", now=NOW)
    Attempt.objects.update(state=Attempt.State.STOPPING)

    assert stopped_finish(now=NOW) == 1

    job.refresh_from_db()
    assert (job.state, job.reason, _held()) == (State.QUEUED, "preempted", 0)


def test_what_still_runs_is_left_to_its_agent(half_over: tuple[Agent, Job]) -> None:
    late, job = half_over
    (wanted,) = late.sync().attempts
    late.running(wanted)
    late.sync()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)

    assert stopped_finish(now=NOW) == 0

    late.ended(wanted)
    late.sync()
    job.refresh_from_db()
    assert (job.state, _held()) == (State.CANCELLED, 0)


def _handed_out() -> tuple[Agent, Job]:
    """In an answer that never arrived."""
    cluster = make_cluster()
    agent = join(cluster, "n1")
    (job,) = make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    assert len(agent.sync().attempts) == 1
    return agent, job


def test_cancelled_after_a_lost_answer_it_is_over_at_the_next_sync() -> None:
    agent, job = _handed_out()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
    assert _held() == 1

    agent.sync()

    job.refresh_from_db()
    assert (job.state, _held()) == (State.CANCELLED, 0)


def test_preempted_after_a_lost_answer_it_is_queued_again() -> None:
    agent, job = _handed_out()
    advance([job.pk], sources=[State.PLACED], to=State.PREEMPTING, reason="preempted", now=NOW)
    Attempt.objects.update(state=Attempt.State.STOPPING)

    agent.sync()

    job.refresh_from_db()
    assert (job.state, _held()) == (State.QUEUED, 0)


def test_what_the_agent_speaks_of_is_its_own_to_end() -> None:
    agent, job = _handed_out()
    (wanted,) = agent.sync().attempts
    starting = AttemptReport(wanted.attempt_id, wanted.fence, WireState.STARTING)
    agent.reports[wanted.attempt_id] = starting
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)

    agent.sync()

    job.refresh_from_db()
    assert (job.state, _held()) == (State.PLACED, 1)
