"""Tasks of one process share its database connection."""

from collections.abc import Callable
from typing import Any

import pytest
from celery.fixups.django import (  # type: ignore[attr-defined]  # its types lack it
    DjangoWorkerFixup,
)
from django.db import connection

from scheduler_service.celery import app


def _run_by_worker(task: Any) -> Any:
    """As a worker does, with what Celery itself does around every task."""
    fixup = DjangoWorkerFixup(app)
    task.push_request(called_directly=False)
    try:
        fixup.on_task_prerun(task)
        return task()
    finally:
        fixup.on_task_postrun(task)
        task.pop_request()


@pytest.fixture
def task() -> Callable[[Callable[[], None]], Any]:
    def made(act: Callable[[], None]) -> Any:
        return app.task(name=f"tests.{act.__name__}")(act)

    return made


@pytest.mark.django_db(transaction=True)
def test_a_task_leaves_the_connection_to_the_next(task: Any) -> None:
    def connects() -> None:
        connection.ensure_connection()

    connects_by_task = task(connects)
    _run_by_worker(connects_by_task)
    session = connection.connection
    _run_by_worker(connects_by_task)
    assert session is not None
    assert connection.connection is session


@pytest.mark.django_db(transaction=True)
def test_a_session_that_was_ended_is_replaced_before_the_next_task(task: Any) -> None:
    def asks() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    asks_by_task = task(asks)
    _run_by_worker(asks_by_task)
    connection.connection.close()
    _run_by_worker(asks_by_task)
    assert connection.is_usable()


@pytest.mark.django_db(transaction=True)
def test_a_task_that_failed_leaves_no_session_that_could_hold_a_lock(task: Any) -> None:
    def locks_and_fails() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(1)")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - its own
        _run_by_worker(task(locks_and_fails))
    assert connection.connection is None
