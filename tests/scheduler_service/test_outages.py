"""An outage is a line now and then; a mistake of ours keeps its traceback."""

import logging
import sys
from typing import Any

import django.db
import psycopg
import pytest
from kombu.exceptions import OperationalError

from scheduler_service.outages import EVERY_S, OutageFilter, is_outage


class _Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _record(error: BaseException, text: str = "Task %s raised", *args: object) -> logging.LogRecord:
    try:
        raise error
    except type(error):
        return logging.LogRecord(
            "celery.app.trace", logging.ERROR, "", 0, text, args, sys.exc_info()
        )


def test_of_a_thousand_one_line_is_left_which_counts_the_others() -> None:
    clock = _Clock()
    outages = OutageFilter(clock)
    away = django.db.OperationalError("server closed the connection")
    kept = [
        record
        for _ in range(1000)
        if outages.filter(record := _record(away, "Task %s raised\ntrace", "jobs.tick"))
    ]
    assert [record.getMessage() for record in kept] == ["Task jobs.tick raised"]
    assert kept[0].exc_info is None

    clock.now_s = EVERY_S
    last = _record(away, "Task %s raised", "jobs.tick")
    assert outages.filter(last)
    assert last.getMessage() == "Task jobs.tick raised; 999 more were left out"


def test_kinds_and_loggers_do_not_hide_one_another() -> None:
    outages = OutageFilter(_Clock())
    assert outages.filter(_record(django.db.OperationalError("gone")))
    assert outages.filter(_record(OperationalError("gone")))
    assert not outages.filter(_record(OperationalError("gone")))


def test_a_mistake_keeps_its_traceback_however_often() -> None:
    outages = OutageFilter(_Clock())
    for _ in range(3):
        record = _record(ValueError("a bug"))
        assert outages.filter(record)
        assert record.exc_info


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.errors.DeadlockDetected("deadlock"), False),
        (psycopg.errors.QueryCanceled("too long"), False),
        (psycopg.errors.AdminShutdown("terminating"), True),
        (psycopg.errors.CannotConnectNow("starting up"), True),
        (psycopg.OperationalError("connection refused"), True),
        (ConnectionRefusedError(), True),
        (KeyError("x"), False),
    ],
)
def test_which_errors_are_outages(error: Exception, expected: bool) -> None:
    assert is_outage(error) is expected
    wrapped = django.db.OperationalError(str(error)) if expected else RuntimeError("x")
    wrapped.__cause__ = error
    assert is_outage(wrapped) is expected


@pytest.mark.parametrize("marked", [{"event": "database_unavailable", "outage": True}, "text"])
def test_lines_that_say_so_themselves_are_thinned_too(marked: Any) -> None:
    outages = OutageFilter(_Clock())
    kept = []
    for _ in range(5):
        record = logging.LogRecord("probe", logging.ERROR, "", 0, marked, (), None)
        if isinstance(marked, str):
            record.outage = True
        if outages.filter(record):
            kept.append(record)
    assert len(kept) == 1
    assert "outage" not in vars(kept[0])
    assert "outage" not in kept[0].msg
