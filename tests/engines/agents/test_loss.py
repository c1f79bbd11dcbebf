"""Silence: short costs a node its new work, long its attempts, and ours costs nobody anything."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from agent.clock import Clock
from agent.remember.lease import RunLease
from clusters.models import Cluster, Node, WatchPause
from engines.agents.leases import is_over
from engines.agents.loss import FLAPS, forget_pauses, watch_nodes
from jobs.models import Allocation, Attempt, Job
from jobs.services.cancel import job_cancel
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db
PAST_THE_LEASE = NOW + timedelta(seconds=settings.RUN_LEASE_S + settings.RUN_MARGIN_S + 1)


def _watch_until(end: datetime, begin: datetime = NOW) -> None:
    """Look every few seconds, as beat would."""
    at = begin
    while at < end:
        watch_nodes(now=at)
        at += timedelta(seconds=5 if at - begin < timedelta(minutes=2) else 9)
    watch_nodes(now=end)


def _running(**job_values: object) -> tuple[Agent, Job]:
    cluster = make_cluster()
    agent = join(cluster, "n1")
    (job,) = make_jobs(cluster, make_tenant(), 1, **job_values)
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

    _watch_until(PAST_THE_LEASE)

    job.refresh_from_db()
    assert (job.state, job.reason) == ("queued", "node_lost")
    assert Attempt.objects.get().state == "lost"
    assert Allocation.objects.filter(released_at=None).count() == 0


def test_a_job_that_cannot_restart_fails() -> None:
    _, job = _running(restartable=False)

    _watch_until(PAST_THE_LEASE)

    job.refresh_from_db()
    assert (job.state, job.reason) == ("failed", "node_lost")


def test_a_cancelled_job_on_a_lost_node_is_cancelled() -> None:
    _, job = _running()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)

    _watch_until(PAST_THE_LEASE)

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


def test_a_late_watch_puts_a_lease_off_by_as_much_and_does_not_renew_it() -> None:
    """Every minute it comes half a minute late: half of the time counts."""
    _, job = _running()
    at, last = NOW, PAST_THE_LEASE + (PAST_THE_LEASE - NOW)
    while at < last:
        _watch_until(at + timedelta(seconds=30), begin=at)
        at += timedelta(seconds=60)
        job.refresh_from_db()
        assert job.state == "running" or at > NOW + (PAST_THE_LEASE - NOW) * 1.5
    _watch_until(at + timedelta(seconds=90), begin=at)

    job.refresh_from_db()
    assert (job.state, job.reason) == ("queued", "node_lost")


def test_two_watchers_write_one_pause_down() -> None:
    for second in (0, 60, 60, 61):
        watch_nodes(now=NOW + timedelta(seconds=second))

    (pause,) = WatchPause.objects.all()
    assert pause.ended_at - pause.began_at == timedelta(seconds=60)

    forget_pauses(now=NOW + timedelta(days=3))
    assert not WatchPause.objects.exists()


@pytest.mark.parametrize(("run_lease_s", "lives"), [(None, False), (300, False), (3600, True)])
def test_a_job_may_have_a_lease_of_its_own(run_lease_s: int | None, lives: bool) -> None:
    agent, job = _running(run_lease_s=run_lease_s)
    granted = agent.sync(now=NOW)
    (wanted,) = granted.attempts
    assert wanted.run_lease_s == (run_lease_s or settings.RUN_LEASE_S)
    assert granted.run_lease_s <= min(wanted.run_lease_s, settings.RUN_LEASE_S)

    _watch_until(PAST_THE_LEASE)

    job.refresh_from_db()
    assert (job.state == "running") is lives


def test_a_lease_that_was_agreed_upon_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that was silent when the setting changed counts with what it was told."""
    _, job = _running()
    monkeypatch.setattr(settings, "RUN_LEASE_S", 60.0)

    _watch_until(NOW + timedelta(seconds=600))
    job.refresh_from_db()
    assert job.state == "running"


def test_ten_minutes_without_a_control_plane_lose_nothing(tmp_path: Path) -> None:
    """Twenty jobs: no agent kills its own, and nothing is given up when all is back."""
    cluster = make_cluster()
    agents = [join(cluster, f"n{number}") for number in range(5)]
    make_jobs(cluster, make_tenant(), 20)
    run_round(cluster.pk, now=NOW)
    leases = []
    for number, agent in enumerate(agents):
        for wanted in agent.sync().attempts:
            agent.running(wanted)
        answer = agent.sync()
        lease = RunLease(tmp_path / f"{number}.json", "boot", clock := _Clock())
        lease.renew(
            0.0,
            answer.run_lease_s,
            {each.attempt_id: each.run_lease_s or 0 for each in answer.attempts},
        )
        leases.append((clock, lease, answer.attempts))
    watch_nodes(now=NOW)

    back = NOW + timedelta(minutes=10)
    for clock, lease, attempts in leases:
        clock.now_s = 600.0
        assert not any(lease.lapsed_for(each.attempt_id) for each in attempts)
    for second in range(0, 20, 2):
        watch_nodes(now=back + timedelta(seconds=second))
    for agent in agents:
        agent.sync(now=back + timedelta(seconds=20))
    watch_nodes(now=back + timedelta(seconds=22))

    assert Job.objects.filter(state="running").count() == 20
    assert Attempt.objects.filter(state="running").count() == 20


class _Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("run_lease_s", [300, 900, 86_400])
def test_the_agent_kills_before_the_service_frees(tmp_path: Path, run_lease_s: int) -> None:
    clock: Clock = lambda: 0.0  # noqa: E731
    lease = RunLease(tmp_path / "lease.json", "boot", clock)
    lease.renew(0.0, 120.0, {7: run_lease_s})
    dead_s = lease.kill_at_of(7)
    assert dead_s < run_lease_s
    assert not is_over(run_lease_s, NOW, [], NOW + timedelta(seconds=dead_s))
    assert not is_over(run_lease_s, NOW, [], NOW + timedelta(seconds=run_lease_s))
    assert is_over(run_lease_s, NOW, [], NOW + timedelta(seconds=run_lease_s + 11))


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
