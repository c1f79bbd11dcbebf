"""One effect and one answer per Idempotency-Key, also when two ask at once or one dies."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import RequestFactory
from django.utils import timezone

from rest import idempotency
from rest.models import IdempotencyKey
from rest.problems import Conflict
from tests.api import Api

KEY = {"Idempotency-Key": "k-1"}


def test_a_repeated_post_has_one_effect_and_one_answer(api: Api) -> None:
    first = api.post("/groups/", {"name": "a"}, KEY)
    again = api.post("/groups/", {"name": "a"}, KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again["Location"] == first["Location"]
    assert again["Idempotent-Replay"] == "true"
    assert "Idempotent-Replay" not in first
    assert again.json()["id"] == first.json()["id"]
    assert Group.objects.count() == 1


def test_the_slash_at_the_end_does_not_make_another_request(api: Api) -> None:
    api.post("/groups/", {"name": "a"}, KEY)
    assert api.post("/groups", {"name": "a"}, KEY)["Idempotent-Replay"] == "true"


def test_secrets_are_not_kept(api: Api) -> None:
    assert api.post("/groups/", {"name": "a"}, KEY).json()["secret"] == "hush"
    assert api.post("/groups/", {"name": "a"}, KEY).json()["secret"] is None
    assert b"hush" not in bytes(IdempotencyKey.objects.get().body)


def test_another_body_is_refused(api: Api) -> None:
    api.post("/groups/", {"name": "a"}, KEY)
    answer = api.post("/groups/", {"name": "b"}, KEY)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert Group.objects.count() == 1


def test_keys_of_different_callers_do_not_meet(api: Api) -> None:
    api.post("/groups/", {"name": "a"}, {**KEY, "X-Who": "one"})
    answer = api.post("/groups/", {"name": "b"}, {**KEY, "X-Who": "two"})
    assert answer.status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "tab\t", "é", "\x7f"])
def test_bad_keys(api: Api, key: str) -> None:
    answer = api.post("/groups/", {"name": "a"}, {"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")
    assert Group.objects.count() == 0


@pytest.mark.parametrize("name", ["refused", "crash"])
def test_what_failed_leaves_neither_effect_nor_key(api: Api, name: str) -> None:
    assert api.post("/groups/", {"name": name}, KEY).status_code in {409, 500}
    assert Group.objects.count() == 0
    assert IdempotencyKey.objects.count() == 0
    assert api.post("/groups/", {"name": "fine"}, KEY).status_code == 201


def test_an_old_answer_is_forgotten(api: Api) -> None:
    api.post("/groups/", {"name": "a"}, KEY)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=25))
    answer = api.post("/groups/", {"name": "b"}, KEY)
    assert (answer.status_code, "Idempotent-Replay" in answer) == (201, False)
    assert api.post("/groups/", {"name": "b"}, KEY)["Idempotent-Replay"] == "true"


def test_purge_forgets_only_the_old(api: Api) -> None:
    api.post("/groups/", {"name": "a"}, KEY)
    api.post("/groups/", {"name": "b"}, {"Idempotency-Key": "k-2"})
    assert idempotency.purge(timezone.now() + timedelta(hours=23)) == 0
    assert idempotency.purge(timezone.now() + timedelta(hours=25)) == 2


def test_without_a_key_nothing_is_kept(api: Api) -> None:
    api.post("/groups/", {"name": "a"})
    assert IdempotencyKey.objects.count() == 0


def _elsewhere(work: Callable[[], Any]) -> Any:
    """Run on a connection of its own, as another process would."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except Conflict as error:
            results.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


def _request() -> Any:
    return RequestFactory().post("/groups/", b"{}", content_type="application/json")


def _claim() -> Any:
    with transaction.atomic():
        return idempotency.claim(_request(), "who", "k")


@pytest.mark.django_db(transaction=True)
def test_a_twin_in_flight_is_told_to_wait() -> None:
    with transaction.atomic():
        mine = idempotency.claim(_request(), "who", "k")
        twin = _elsewhere(_claim)
    assert isinstance(mine, idempotency.Claim)
    assert isinstance(twin, Conflict)
    assert twin.code == "idempotency_in_flight"
    assert isinstance(_elsewhere(_claim), idempotency.Claim)


@pytest.mark.django_db(transaction=True)
def test_a_key_stored_behind_an_old_snapshot_undoes_the_second_effect() -> None:
    """The look-up saw no row and got the lock, but the twin had committed in between."""
    answer = idempotency._replay(201, "{}", b"{}")

    def twin() -> None:
        with transaction.atomic():
            claim = idempotency.claim(_request(), "who", "k")
            assert isinstance(claim, idempotency.Claim)
            claim.keep(answer)

    claim = _elsewhere(_claim)
    _elsewhere(twin)

    @transaction.atomic
    def second_effect() -> None:
        Group.objects.create(name="second effect")
        claim.keep(answer)

    with pytest.raises(Conflict):
        second_effect()
    assert Group.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_many_at_once_have_one_effect(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.rest.urls"
    answers: list[Any] = []

    def post() -> None:
        answers.append(Api().post("/groups/", {"name": "a"}, KEY))
        connection.close()

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Group.objects.count() == 1
    outcomes = {(a.status_code, a.json().get("code")) for a in answers}
    assert outcomes <= {(201, None), (409, "idempotency_in_flight")}
    assert sum(a.status_code == 201 and "Idempotent-Replay" not in a for a in answers) == 1
