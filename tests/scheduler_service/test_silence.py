"""A stopped Postgres is noticed in seconds; a slow statement of a living one is left alone."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from psycopg.waiting import Ready, Wait
from pytest_django import DjangoDbBlocker

from scheduler_service import environment
from scheduler_service.database import base, silence
from scheduler_service.database.silence import ServerSilent, questioned
from scheduler_service.embedded import postgres
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import running


def _conversation() -> Generator[Wait, Ready | int, str]:
    while (yield Wait.R) == Ready.NONE:
        pass
    return "answer"


class _Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _silence(
    seconds: float, answers: Callable[[], bool], longest_s: float = 1e9
) -> tuple[Any, _Clock]:
    clock = _Clock()
    talk: Any = questioned(_conversation(), answers, longest_s, clock)
    next(talk)
    clock.now_s = seconds
    return talk, clock


def test_what_the_server_says_is_passed_on() -> None:
    talk, _ = _silence(0.1, lambda: False)
    with pytest.raises(StopIteration) as over:
        talk.send(Ready.R)
    assert over.value.value == "answer"


def test_a_short_silence_is_not_questioned() -> None:
    talk, _ = _silence(silence.SILENCE_S - 0.1, lambda: pytest.fail("asked"))
    assert talk.send(Ready.NONE) == Wait.R


def test_a_long_statement_of_a_living_server_goes_on() -> None:
    asked: list[int] = []

    def answers() -> bool:
        asked.append(1)
        return True

    talk, clock = _silence(silence.SILENCE_S + 0.1, answers)
    for _ in range(5):
        assert talk.send(Ready.NONE) == Wait.R
    assert len(asked) == 1, "once per silence"
    clock.now_s *= 2
    talk.send(Ready.NONE)
    assert len(asked) == 2


def test_a_dead_server_ends_the_wait() -> None:
    talk, _ = _silence(silence.SILENCE_S + 0.1, lambda: False)
    with pytest.raises(ServerSilent):
        talk.send(Ready.NONE)


def test_one_stuck_session_is_not_waited_for_without_end() -> None:
    talk, _ = _silence(71, lambda: True, longest_s=70)
    with pytest.raises(ServerSilent):
        talk.send(Ready.NONE)


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """The server and all its sessions, as a host that hangs."""
    tree = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    for each in tree:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in reversed(tree):
            os.kill(each, signal.SIGCONT)


@pytest.mark.process
def test_a_stopped_postgres_is_an_error_within_seconds(
    throwaway_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    django_db_blocker: DjangoDbBlocker,
) -> None:
    monkeypatch.setattr(silence, "SILENCE_S", 0.3)
    monkeypatch.setattr(base, "_unanswered", base.Unanswered())
    home = throwaway_directory / "stopped"
    with (
        postgres.prepared(home, port=free_port(), durable=False) as server,
        running(server.program, throwaway_directory / "stopped.log") as process,
        django_db_blocker.unblock(),
    ):
        timeouts_s = settings.DATABASE_TIMEOUTS_S
        handler = ConnectionHandler(
            {"default": environment.database(server.url, "all", timeouts_s)}
        )
        connection = handler["default"]
        _ask(connection)
        with _stopped(process.pid):
            begun_s = monotonic()
            for _ in range(2):
                # First on the open connection, then while making another.
                with pytest.raises(OperationalError):
                    _ask(connection)
            assert monotonic() - begun_s < 8
            begun_s = monotonic()
            with pytest.raises(OperationalError, match="a moment ago"):
                _ask(connection)
            assert monotonic() - begun_s < 0.5
        monkeypatch.setattr(base, "_unanswered", base.Unanswered())
        assert _ask(connection) == 1
        connection.close()


def _ask(connection: BaseDatabaseWrapper) -> int:
    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        answer: int = cursor.fetchone()[0]
        return answer
