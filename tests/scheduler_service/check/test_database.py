"""Each probe of the database finds what it is there for, on a real server."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from pytest_django import Settings

from scheduler_service.check import database

pytestmark = pytest.mark.django_db


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_superuser_is_no_role_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's first role, which is one wherever the tests run."""
    monkeypatch.setattr(
        database, "_ROLE", database._ROLE.replace("rolname = current_user", "oid = 10")
    )
    found = database.role()
    assert found.status == "failed"
    assert "SUPERUSER" in found.detail
    assert "NOSUPERUSER NOBYPASSRLS" in found.next_step


def test_a_table_whose_owner_is_not_bound_is_named() -> None:
    assert database.row_security().status == "ok"
    run("ALTER TABLE jobs_job NO FORCE ROW LEVEL SECURITY")
    found = database.row_security()
    assert found.status == "failed"
    assert "jobs_job (1 of " in found.detail


def test_a_table_whose_wall_was_taken_down_is_named() -> None:
    run("ALTER TABLE tenancy_secret DISABLE ROW LEVEL SECURITY")
    assert "tenancy_secret" in database.row_security().detail


def test_a_migration_that_is_not_applied() -> None:
    last = MigrationRecorder.Migration.objects.filter(app="jobs").order_by("name").last()
    assert last
    last.delete()
    found = database.migrations()
    assert (found.status, found.detail) == ("failed", "1 migrations are not applied.")
    assert "fairwatt-service migrate" in found.next_step


def test_a_timeout_that_got_lost_on_the_way() -> None:
    assert database.timeouts().status == "ok"
    run("SET LOCAL lock_timeout = 0")
    found = database.timeouts()
    assert (found.status, found.detail) == ("failed", "asked for but not in force: lock_timeout")


def test_a_timeout_that_was_turned_off(settings: Settings) -> None:
    settings.DATABASE_TIMEOUTS_S = {**settings.DATABASE_TIMEOUTS_S, "statement_timeout": 0.0}
    run("SET LOCAL statement_timeout = 0")
    found = database.timeouts()
    assert (found.status, found.detail) == ("warning", "without a limit: statement_timeout")


def test_the_clock_of_this_host_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert database.clock().status == "ok"
    real = timezone.now

    def an_hour_late() -> datetime:
        return real() - timedelta(hours=1)

    monkeypatch.setattr(timezone, "now", an_hour_late)
    found = database.clock()
    assert found.status == "failed"
    assert "3600." in found.detail or "3599." in found.detail


@pytest.mark.parametrize(
    ("apart_s", "status"), [(0.0, "ok"), (0.9, "ok"), (1.0, "warning"), (10.0, "failed")]
)
def test_how_far_clocks_may_be_apart(apart_s: float, status: str) -> None:
    assert database.skew(apart_s).status == status


def test_an_old_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LEAST_VERSION", 99)
    found = database.database()
    assert (found.status, found.next_step) == ("failed", "Use Postgres 99 or later.")
