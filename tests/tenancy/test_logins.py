"""Passwords and join tokens are not guessed by the hundred."""

import time

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from rest.problems import Problem
from tenancy import logins, rls
from tenancy.models import AuditRow
from tenancy.throttles import wrong_secrets

pytestmark = pytest.mark.django_db
LOGIN = "/admin/login/"


@pytest.fixture(autouse=True)
def few(settings: LazySettings) -> None:
    """A counter of the test's own, and a clock that does not turn over within it."""
    settings.CACHE_URL = f"local:{time.monotonic_ns()}"
    settings.WRONG_SECRETS_PER_MINUTE = 3
    if time.time() % 60 > 55:
        time.sleep(5)


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada", password="correct horse")


def _enters(name: str, password: str, address: str) -> bool:
    answer = Client().post(
        LOGIN, {"username": name, "password": password}, REMOTE_ADDR=address, secure=True
    )
    return answer.status_code == 302


def test_the_right_password_enters_after_a_few_wrong_ones(ada: User) -> None:
    for _ in range(2):
        assert not _enters("ada", "wrong", "10.0.0.1")
    assert _enters("ada", "correct horse", "10.0.0.1")


def test_an_address_that_guesses_is_not_heard_whatever_it_says(ada: User) -> None:
    for name in ("root", "admin", "operator"):
        assert not _enters(name, "wrong", "10.0.0.1")
    assert not _enters("ada", "correct horse", "10.0.0.1")
    assert _enters("ada", "correct horse", "10.0.0.2")


def test_a_name_that_is_guessed_from_everywhere_is_closed(ada: User) -> None:
    for number in range(3):
        assert not _enters("ada", "wrong", f"10.0.0.{number}")
    assert not _enters("ada", "correct horse", "10.0.0.9")


def test_the_next_minute_begins_anew() -> None:
    guesses = wrong_secrets(f"local:{time.monotonic_ns()}", "join", 2)
    for _ in range(2):
        guesses.refuse_if_many("a", 60.0)
        guesses.note("a", 60.0)
    with pytest.raises(Problem) as refused:
        guesses.refuse_if_many("a", 100.0)
    assert (refused.value.status_code, refused.value.headers["Retry-After"]) == (429, "20")
    guesses.refuse_if_many("a", 120.0)


def _told(action: str) -> list[AuditRow]:
    return list(AuditRow.objects.filter(action=action).order_by("pk"))


@pytest.mark.parametrize("page", [LOGIN, "/console/sign-in/"])
def test_the_audit_tells_of_who_signed_in(ada: User, page: str) -> None:
    form = {"username": "ada", "password": "correct horse"}
    assert Client().post(page, form, REMOTE_ADDR="10.0.0.1", secure=True).status_code == 302
    (row,) = _told("user.sign_in")
    assert (row.user_id, row.role, row.object_type, row.object_id) == (
        *(ada.pk, "operator"),
        *("user", ada.pk),
    )
    assert row.changes == {"address": "10.0.0.1"}


def test_who_is_not_staff_signs_in_as_a_member() -> None:
    bob = User.objects.create_user("bob", password="x")
    Client().force_login(bob)
    (row,) = _told("user.sign_in")
    assert (row.user_id, row.role, row.tenant_id) == (bob.pk, "member", None)


def test_the_audit_tells_of_a_wrong_password_and_not_what_it_was(ada: User) -> None:
    _enters("ada", "hunter2", "10.0.0.1")
    (row,) = _told("user.sign_in_refused")
    assert (row.object_type, row.object_id, row.user_id) == ("user", ada.pk, None)
    assert row.changes == {"address": "10.0.0.1"}


def test_a_password_typed_as_a_name_is_not_kept(ada: User) -> None:
    _enters("correct horse", "", "10.0.0.1")
    _enters("correct horse", "ada", "10.0.0.1")
    (row,) = _told("user.sign_in_refused")
    assert (row.object_id, row.changes) == (None, {"address": "10.0.0.1"})


def test_guessing_fills_the_audit_no_further_than_it_is_heard(ada: User) -> None:
    for _ in range(8):
        _enters("ada", "wrong", "10.0.0.1")
    assert len(_told("user.sign_in_refused")) == 3


def test_guessing_from_everywhere_has_an_end_too(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "FAILURES_PER_MINUTE", 4)
    for number in range(8):
        _enters(f"name{number}", "wrong", f"10.0.0.{number}")
    assert len(_told("user.sign_in_refused")) == 4


def test_a_connection_that_sees_nothing_still_tells(ada: User) -> None:
    """As the API's process starts them."""
    with rls.scope(rls.NONE):
        assert _enters("ada", "correct horse", "10.0.0.1")
        assert not _enters("ada", "wrong", "10.0.0.1")
    assert len(_told("user.sign_in")) == len(_told("user.sign_in_refused")) == 1
