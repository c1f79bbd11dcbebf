"""A standby takes over: DATABASE_URL names both, and what was acknowledged is still there."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from pytest_django import DjangoDbBlocker

from lab.benchmarks.harness.standby import PostgresPair, primary_and_standby
from scheduler_service import environment

TIMEOUTS_S = settings.DATABASE_TIMEOUTS_S


def test_of_several_hosts_the_one_that_takes_writes_is_asked_for() -> None:
    one = environment.database("postgresql://u:p@a:1/d", "all", TIMEOUTS_S)
    assert "target_session_attrs" not in one["OPTIONS"]
    two = environment.database("postgresql://u:p@a:1,b:2/d", "all", TIMEOUTS_S)
    assert (two["HOST"], two["PORT"]) == ("a,b", "1,2")
    assert two["OPTIONS"]["target_session_attrs"] == "read-write"
    chosen = environment.database(
        "postgresql://u:p@a:1,b:2/d?target_session_attrs=any", "all", TIMEOUTS_S
    )
    assert chosen["OPTIONS"]["target_session_attrs"] == "any"


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with (
        tempfile.TemporaryDirectory(prefix="fairwatt-pair-", dir="/tmp") as directory,
    ):
        home = Path(directory)
        home.chmod(0o755)
        with primary_and_standby(home, synchronous=True) as made:
            yield made


@pytest.mark.process
def test_after_a_promotion_writes_go_on_and_nothing_acknowledged_is_lost(
    pair: PostgresPair, django_db_blocker: DjangoDbBlocker
) -> None:
    known = environment.database(pair.url, "all", TIMEOUTS_S)
    with django_db_blocker.unblock():
        connection = ConnectionHandler({"default": known})["default"]
        _execute(connection, "CREATE TABLE kept (number int)")
        for number in range(20):
            _execute(connection, f"INSERT INTO kept VALUES ({number})")
        pair.kill_primary()
        with pytest.raises(OperationalError):
            _execute(connection, "INSERT INTO kept VALUES (20)")
        pair.promote()
        connection.close()
        _execute(connection, "INSERT INTO kept VALUES (21)")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*), max(number) FROM kept WHERE number <> 20")
            assert cursor.fetchone() == (21, 21)
        connection.close()


def _execute(connection: BaseDatabaseWrapper, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
