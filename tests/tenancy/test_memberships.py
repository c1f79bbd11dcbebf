"""Memberships over HTTP."""

import pytest
from django.contrib.auth.models import User

from tenancy.models import AuditRow
from tests.api import Api
from tests.tenancy.conftest import World

URL = "/api/v1/memberships/"


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def test_an_admin_manages_the_people_of_its_tenant(admin: Api, ada: User, world: World) -> None:
    made = admin.post(URL, {"username": "ada", "role": "member"})
    assert (made.status_code, made.json()["tenant_id"]) == (201, world.ours.pk)
    url = made["Location"]
    changed = admin.patch(url, {"role": "admin"}, {"If-Match": made["ETag"]})
    assert (changed.json()["role"], changed.json()["username"]) == ("admin", "ada")
    assert admin.delete(url, {"If-Match": changed["ETag"]}).status_code == 204
    assert admin.get(url).status_code == 404
    actions = AuditRow.objects.filter(object_type="membership").order_by("id")
    assert [row.action.split(".")[1] for row in actions] == ["create", "update", "delete"]
    assert {row.tenant_id for row in actions} == {world.ours.pk}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"username": "nobody", "role": "member"}, 409, "unknown_user"),
        ({"username": "ada", "role": "operator"}, 400, "invalid"),
        ({"username": "ada"}, 400, "invalid"),
        ({"username": "ada", "role": "member", "tenant_id": 10**18}, 409, "unknown_tenant"),
    ],
)
def test_refusals(admin: Api, ada: User, body: dict[str, object], status: int, code: str) -> None:
    answer = admin.post(URL, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_nobody_joins_twice(admin: Api, ada: User) -> None:
    admin.post(URL, {"username": "ada", "role": "member"})
    answer = admin.post(URL, {"username": "ada", "role": "admin"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_member")


def test_a_person_who_left_is_unknown(admin: Api, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert admin.post(URL, {"username": "ada", "role": "member"}).json()["code"] == "unknown_user"


def test_members_only_look(member: Api, ada: User) -> None:
    assert member.get(URL).status_code == 200
    assert member.post(URL, {"username": "ada", "role": "member"}).status_code == 403


def test_operators_say_which_tenant(operator: Api, ada: User, world: World) -> None:
    body = {"username": "ada", "role": "member"}
    assert operator.post(URL, body).json()["code"] == "tenant_required"
    made = operator.post(URL, {**body, "tenant_id": world.theirs.pk})
    assert made.json()["tenant_id"] == world.theirs.pk
