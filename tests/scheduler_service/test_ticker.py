"""Without broker, beat or workers the duties go on; beside them the ticker only looks."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import psycopg
import pytest
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone
from kombu.exceptions import OperationalError

from clusters.models import Cluster
from jobs import nudge
from scheduler_service import duties, tasks, ticker
from scheduler_service.factories import NOW, make_cluster
from scheduler_service.models import DutyRecord
from scheduler_service.ticker import Ticker
from scheduling import lock


class _AtOnce(ThreadPoolExecutor):
    """In the caller's thread, whose transaction the test rolls back."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done, by name, instead of doing it."""
    calls: list[str] = []
    names = {name: lambda name=name: calls.append(name) for name in duties.DUTIES}
    monkeypatch.setattr(duties, "DUTIES", names)
    monkeypatch.setattr(ticker, "close_old_connections", lambda: None)
    monkeypatch.setattr(ticker, "_round", lambda cluster: calls.append(f"round {cluster}"))
    return calls


def _look(seconds: float, monkeypatch: pytest.MonkeyPatch, subject: Ticker | None = None) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(seconds=seconds))
    (subject or Ticker(pool=_AtOnce())).look()


@pytest.mark.django_db
def test_every_duty_of_beat_but_questions_and_bounds_is_the_tickers_too() -> None:
    periodic = {
        name
        for name, entry in settings.CELERY_BEAT_SCHEDULE.items()
        if str(entry["task"]).startswith("jobs.")
    }
    assert {duties.TICK, *duties.DUTIES} == periodic - {"bounds"}


@pytest.mark.django_db
def test_while_workers_do_it_the_ticker_does_not(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for second in range(10):
        monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(seconds=second))  # noqa: B023
        for name in (duties.TICK, *duties.DUTIES):
            duties.note(name)
        _look(second + 0.5, monkeypatch)
    assert done == []


@pytest.mark.django_db
def test_when_they_stop_it_keeps_their_pace(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    for name in (duties.TICK, *duties.DUTIES):
        duties.note(name)
    for half_second in range(1, 60):
        _look(half_second / 2, monkeypatch)
    # Every second and every other second, from two seconds after they were due.
    assert 26 <= done.count("digest") <= 28
    assert 12 <= done.count("watch") <= 14
    assert done.count("learn") == 2
    assert "sweep" not in done

    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(seconds=29.6))
    duties.note("digest")
    done.clear()
    _look(31, monkeypatch)
    assert "digest" not in done, "the worker is back"


@pytest.mark.django_db
def test_of_two_tickers_one_does_it(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Ticker(pool=_AtOnce()), Ticker(pool=_AtOnce())
    for subject in (first, second):
        _look(0, monkeypatch, subject)
    assert sorted(done) == sorted(duties.DUTIES)
    assert not duties.claim("watch", now=NOW)


@pytest.mark.django_db
def test_it_runs_the_rounds_that_are_due(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make_cluster()
    Cluster.objects.update(next_round_at=NOW)
    _look(0, monkeypatch)
    _look(1.5, monkeypatch)
    assert done.count(f"round {cluster.pk}") == 1


@pytest.mark.django_db
def test_a_duty_that_fails_is_tried_again(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise DatabaseError("gone") if len(tries) == 1 else ValueError("a bug")

    duties.DUTIES["watch"] = fail
    for second in (0, 2, 4):
        _look(second, monkeypatch)
    assert len(tries) == 3


def test_a_database_that_is_away_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(duties, "overdue", refuse)
    monkeypatch.setattr(ticker, "close_old_connections", lambda: None)
    Ticker(pool=_AtOnce()).look()


def test_what_hangs_is_noticed() -> None:
    at_s, hanging = [0.0], Event()
    subject = Ticker(clock=lambda: at_s[0])
    subject._begin("watch", hanging.wait)
    assert not subject.stuck()
    at_s[0] = ticker.STUCK_S + 1
    assert subject.stuck()
    hanging.set()
    subject._pool.shutdown()
    assert not subject.stuck()


@pytest.mark.django_db
def test_tasks_say_that_they_are_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(duties.DUTIES, "watch", lambda: None)
    tasks.watch()
    tasks.tick()
    assert set(DutyRecord.objects.values_list("name", "runner")) == {
        ("watch", "worker"),
        ("tick", "worker"),
    }


@pytest.mark.django_db
def test_a_nudge_that_is_not_taken_makes_the_round_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("gone")

    cluster = make_cluster()
    Cluster.objects.update(next_round_at=timezone.now() + timedelta(hours=1))
    monkeypatch.setattr(current_app, "send_task", refuse)
    monkeypatch.setattr(connection, "close", lambda: None)
    nudge._publish(cluster.pk)
    assert duties.rounds_take(now=timezone.now() + timedelta(seconds=1)) == [cluster.pk]


@pytest.mark.django_db
def test_a_session_that_sits_on_a_rounds_lock_is_ended() -> None:
    parameters = connection.get_connection_params()
    kept = ("dbname", "user", "host", "port", "password")
    with psycopg.connect(
        **{name: parameters[name] for name in kept if parameters.get(name)}, autocommit=True
    ) as sitter:
        assert sitter.execute("SELECT pg_try_advisory_lock(%s)", [lock._ROUND | 7]).fetchone() == (
            True,
        )
        assert lock.sitters_end(sits_s=60) == 0
        with lock.cluster_lock(7) as held:
            assert not held
        assert lock.sitters_end(sits_s=0) == 1
        with pytest.raises(psycopg.OperationalError):
            sitter.execute("SELECT 1")
    with lock.cluster_lock(7) as held:
        assert held
