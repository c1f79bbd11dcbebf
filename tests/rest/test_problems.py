"""Refusals: one shape at every level, and no inside shows."""

import json

import pytest
import structlog
from django.db import IntegrityError, OperationalError
from django.db.models import ProtectedError
from pytest_django import Settings
from rest_framework import exceptions

from rest import constraints
from rest.problems import Fault, Problem, problem_from, response
from rest.problems.translate import faults
from tests.api import Api

MEMBERS = {"type", "title", "status", "code", "detail", "instance", "request_id", "errors"}


class _Diagnosis:
    def __init__(self, sqlstate: str, constraint_name: str | None = None) -> None:
        self.sqlstate, self.constraint_name = sqlstate, constraint_name


class _DriverError(Exception):
    def __init__(self, diag: _Diagnosis) -> None:
        self.diag = diag


def _caused(error: Exception, sqlstate: str, constraint: str | None = None) -> Exception:
    error.__cause__ = _DriverError(_Diagnosis(sqlstate, constraint))
    return error


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere/", 404, "not_found"),
        ("GET", "/groups/999999/", 404, "not_found"),
        ("GET", f"/groups/{10**30}/", 404, "not_found"),
        ("GET", "/groups/-1/", 404, "not_found"),
        ("GET", "/groups/%D9%A1/", 404, "not_found"),  # an Arabic digit is no id
        ("DELETE", "/groups/", 405, "method_not_allowed"),
        ("TRACE", "/groups/", 405, "method_not_allowed"),
        ("BREW", "/groups/", 405, "method_not_allowed"),
        ("GET", "/failures/missing/", 404, "not_found"),
        ("GET", "/failures/denied/", 403, "forbidden"),
        ("GET", "/failures/data/", 400, "out_of_range"),
        ("GET", "/failures/integrity/", 500, "internal_error"),
        ("GET", "/failures/operational/", 503, "unavailable"),
        ("GET", "/failures/runtime/", 500, "internal_error"),
        ("GET", "/crash/", 500, "internal_error"),
    ],
)
def test_every_refusal_is_a_problem(
    api: Api, method: str, path: str, status: int, code: str
) -> None:
    answer = api.send(method, path)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert set(body) == MEMBERS
    assert (body["status"], body["code"]) == (status, code)
    assert body["request_id"] == answer["X-Request-ID"]
    assert b"hunter2" not in answer.content
    assert b"internal words" not in answer.content
    assert b"Traceback" not in answer.content


def test_method_not_allowed_says_what_is(api: Api) -> None:
    assert api.send("DELETE", "/groups/")["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_not_acceptable_and_unsupported_media_type(api: Api) -> None:
    assert api.get("/groups/", headers={"Accept": "text/html"}).json()["code"] == "not_acceptable"
    answer = api.send("POST", "/groups/", b"name=a", content_type="text/plain")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/*;q=0.5, text/html"])
def test_usual_accept_headers_are_answered(api: Api, accept: str) -> None:
    assert api.get("/groups/", headers={"Accept": accept}).status_code == 200


def test_unexpected_errors_are_logged_with_their_traceback(api: Api) -> None:
    with structlog.testing.capture_logs() as logs:
        api.get("/failures/runtime/")
    assert [entry["event"] for entry in logs] == ["unexpected_exception"]
    assert isinstance(logs[0]["exc_info"], RuntimeError)


def test_a_known_constraint_becomes_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = constraints.ConstraintRule("taken", "/name", "Choose another.")
    monkeypatch.setattr(constraints, "_rules", lambda: {"one_of_each": rule})
    problem = problem_from(_caused(IntegrityError(), "23505", "one_of_each"))
    assert (problem.status_code, problem.code) == (409, "taken")
    assert problem.errors[0].pointer == "/name"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (_caused(OperationalError(), "55P03"), 409, "busy"),
        (_caused(OperationalError(), "40P01"), 409, "busy"),
        (_caused(OperationalError(), "57014"), 409, "busy"),
        (_caused(OperationalError(), "42501"), 403, "forbidden"),
        (ProtectedError("in use", set()), 409, "in_use"),
        (exceptions.NotFound(), 404, "not_found"),
        (exceptions.Throttled(), 429, "throttled"),
        (Problem("Tea only.", status=418, code="teapot"), 418, "teapot"),
    ],
)
@pytest.mark.django_db
def test_translation(error: Exception, status: int, code: str) -> None:
    problem = problem_from(error)
    assert (problem.status_code, problem.code) == (status, code)


def test_pointers_follow_nested_lists_and_escape() -> None:
    detail = exceptions.ValidationError(
        {
            "cars": [{}, {"wheels": [{"a/b": ["bad"]}]}],
            "non_field_errors": ["together wrong"],
            "tags": {"3": ["too long"]},
        },
        code="nope",
    ).detail
    assert {(f.pointer, f.code, f.detail) for f in faults(detail)} == {
        ("/cars/1/wheels/0/a~1b", "nope", "bad"),
        ("", "nope", "together wrong"),
        ("/tags/3", "nope", "too long"),
    }


def test_a_body_of_the_wrong_shape_is_located(api: Api) -> None:
    body = {"cars": [{"name": "a"}, {"name": "b", "wheels": [{"bolts": 3}, {"bolts": "x"}]}]}
    answer = api.post("/bulk/", body)
    assert answer.status_code == 400
    assert [e["pointer"] for e in answer.json()["errors"]] == ["/cars/1/wheels/1/bolts"]


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"x"', b"true"])
def test_a_body_that_is_no_object(api: Api, body: bytes) -> None:
    answer = api.send("POST", "/cars/", body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == ""


def test_django_level_handlers_without_drf(api: Api, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["example.org"]
    answer = api.get("/groups/", headers={"Host": "evil.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


def test_a_thousand_faults_are_answered_by_a_hundred() -> None:
    faults = [Fault(f"/jobs/{number}", "invalid", "Bad.") for number in range(250)]
    body = json.loads(response(Problem("Much is wrong.", errors=faults), "/jobs/").content)
    assert [len(body["errors"]), body["errors_left_out"]] == [100, 150]
