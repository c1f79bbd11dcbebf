"""The probes tell the truth about what they ask."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from scheduler_service import celery_app, health
from scheduler_service.embedded.ports import free_port
from scheduler_service.metrics import metrics

View = Callable[[HttpRequest], HttpResponse]


@pytest.fixture(autouse=True)
def _freshly_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_migrated", threading.Event())


def get(view: View, path: str) -> tuple[HttpResponse, Any]:
    answer = view(RequestFactory().get(path))
    return answer, json.loads(answer.content)


def failed(body: dict[str, Any]) -> list[str]:
    return [error["code"] for error in body["errors"]]


def test_alive_asks_nobody() -> None:
    """Without the database mark, pytest-django would refuse any query."""
    answer, body = get(health.healthz, "/healthz")
    assert (answer.status_code, body) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_ready_when_everything_answers(broker_url: str) -> None:
    answer, body = get(health.readyz, "/readyz")
    assert (answer.status_code, body["status"]) == (200, "ready")
    assert body["checks"] == ["database", "migrations", "broker"]


@pytest.mark.django_db
def test_without_a_broker_it_is_degraded_and_serves(
    broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery_app.conf, "broker_url", f"redis://127.0.0.1:{free_port()}/0")
    answer, body = get(health.readyz, "/readyz")
    assert (answer.status_code, body["status"]) == (200, "degraded")
    assert [missing["name"] for missing in body["missing"]] == ["broker"]


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_is_counted(broker_url: str) -> None:
    """The record alone is removed; the test's transaction puts it back."""
    last = MigrationRecorder.Migration.objects.filter(app="auth").order_by("name").last()
    assert last
    last.delete()
    answer, body = get(health.readyz, "/readyz")
    assert (answer.status_code, failed(body)) == (503, ["migrations"])
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["Retry-After"] == "5"
    assert body["errors"][0]["detail"] == "1 migrations are not applied."


@pytest.mark.django_db
def test_applied_migrations_are_compared_once(
    broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(health.readyz, "/readyz")
    monkeypatch.delattr(health, "MigrationExecutor")

    assert get(health.readyz, "/readyz")[0].status_code == 200


@pytest.mark.django_db
def test_a_database_that_is_gone_is_named_without_its_address(
    broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise DatabaseError("connection to server at db.internal, user fairwatt, failed")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer, body = get(health.readyz, "/readyz")
    assert answer.status_code == 503
    assert failed(body) == ["database", "migrations"]
    assert b"internal" not in answer.content


@pytest.mark.parametrize("view", [health.healthz, health.readyz, metrics])
def test_other_methods_are_a_problem(view: View) -> None:
    answer = view(RequestFactory().post("/"))
    assert answer.status_code == 405
    assert answer["Allow"] == "GET, HEAD"
    assert json.loads(answer.content)["code"] == "method_not_allowed"


def test_probes_are_not_redirected_to_https() -> None:
    assert {r"^healthz$", r"^readyz$", r"^metrics$"} <= set(settings.SECURE_REDIRECT_EXEMPT)
