"""Silence: short costs a node its new work, long its attempts, and ours costs nobody anything."""

from datetime import datetime, timedelta

import pytest

from clusters.models import Cluster, Node
from engines.agents.loss import FLAPS, watch_nodes
from jobs.models import Allocation, Attempt, Job
from jobs.services.cancel import job_cancel
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db


def _watch_until(end: datetime, begin: datetime = NOW) -> None:
    """Look every five seconds, as beat would."""
    at = begin
    while at <= end:
        watch_nodes(now=at)
        at += timedelta(seconds=5)


def _running(restartable: bool = True) -> tuple[Agent, Job]:
    cluster = make_cluster()
    agent = join(cluster, "n1")
    (job,) = make_jobs(cluster, make_tenant(), 1, restartable=restartable)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()
    return agent, job


def test_a_silent_node_is_lost_but_its_attempt_lives_until_the_run_lease_ends() -> None:
    agent, job = _running()

    _watch_until(NOW + timedelta(seconds=60))
    assert Node.objects.get().state == "lost"
    assert Job.objects.get().state == "running"

    agent.sync(now=NOW + timedelta(seconds=61))
    assert Node.objects.get().state == "ready"
    assert Job.objects.get(pk=job.pk).state == "running"


def test_past_the_run_lease_the_attempt_is_lost_and_the_job_queued() -> None:
    _, job = _running()

    _watch_until(NOW + timedelta(seconds=140))

    job.refresh_from_db()
    assert (job.state, job.reason) == ("queued", "node_lost")
    assert Attempt.objects.get().state == "lost"
    assert Allocation.objects.filter(released_at=None).count() == 0


def test_a_job_that_cannot_restart_fails() -> None:
    _, job = _running(restartable=False)

    _watch_until(NOW + timedelta(seconds=140))

    job.refresh_from_db()
    assert (job.state, job.reason) == ("failed", "node_lost")


def test_a_cancelled_job_on_a_lost_node_is_cancelled() -> None:
    _, job = _running()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)

    _watch_until(NOW + timedelta(seconds=140))

    job.refresh_from_db()
    assert job.state == "cancelled"


def test_our_own_pause_expires_nothing() -> None:
    _running()
    watch_nodes(now=NOW)

    much_later = NOW + timedelta(hours=3)
    watch_nodes(now=much_later)
    watch_nodes(now=much_later + timedelta(seconds=5))

    assert Node.objects.get().state == "ready"
    assert Job.objects.get().state == "running"


def test_when_most_nodes_fall_silent_at_once_the_brake_is_on() -> None:
    cluster = make_cluster()
    agents = [join(cluster, f"n{number}") for number in range(4)]
    later = NOW + timedelta(seconds=60)
    agents[0].sync(now=later)

    _watch_until(later)
    assert set(Node.objects.values_list("state", flat=True)) == {"ready"}
    assert Cluster.objects.get().brake_since_at is not None

    for agent in agents[1:3]:
        agent.sync(now=later)
    watch_nodes(now=later + timedelta(seconds=5))
    assert Cluster.objects.get().brake_since_at is None
    assert sorted(Node.objects.values_list("state", flat=True)) == ["lost", *["ready"] * 3]


def test_nodes_that_fall_silent_within_an_interval_of_one_another_did_so_at_once() -> None:
    cluster = make_cluster()
    agents = [join(cluster, f"n{number}") for number in range(9)]
    for number, agent in enumerate(agents):
        agent.sync(now=NOW + timedelta(seconds=number))

    for second in range(0, 90, 2):
        watch_nodes(now=NOW + timedelta(seconds=second))

    assert set(Node.objects.values_list("state", flat=True)) == {"ready"}
    assert Cluster.objects.get().brake_since_at is not None


def test_a_flapping_node_is_quarantined() -> None:
    agent = join(make_cluster(), "n1")
    at = NOW
    for _ in range(FLAPS):
        _watch_until(at + timedelta(seconds=30), begin=at)
        at += timedelta(seconds=40)
        if Node.objects.get().state == "lost":
            agent.sync(now=at)

    assert (Node.objects.get().state, Node.objects.get().state_reason) == (
        "quarantined",
        "flapping",
    )


def test_losses_of_other_days_are_forgotten() -> None:
    agent = join(make_cluster(), "n1")
    at = NOW
    for _ in range(FLAPS + 1):
        _watch_until(at + timedelta(seconds=30), begin=at)
        at += timedelta(days=1)
        agent.sync(now=at)

    assert Node.objects.get().state == "ready"
