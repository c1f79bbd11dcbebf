"""Tokens over HTTP: shown once, rotated with an overlap, revoked at once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tenancy import tokens
from tenancy.callers import SYSTEM
from tenancy.models import ApiToken, AuditRow
from tenancy.roles import Role
from tests.api import Api
from tests.tenancy.conftest import World, new_token

URL = "/api/v1/tokens/"
ME = "/api/v1/me/"


def test_the_secret_is_shown_once(admin: Api, world: World) -> None:
    made = admin.post(URL, {"name": "ci", "role": "member"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert Api(secret).get(ME).json()["tenant_id"] == world.ours.pk
    shown = admin.get(made["Location"])
    assert "secret" not in shown.json()
    assert shown.json()["prefix"] == secret[:13]
    assert secret.encode() not in admin.get(URL).content
    assert secret not in str(AuditRow.objects.latest("id").changes)


def test_a_replay_does_not_show_it_again(admin: Api) -> None:
    key = {"Idempotency-Key": "k"}
    first = admin.post(URL, {"name": "ci", "role": "member"}, key).json()
    again = admin.post(URL, {"name": "ci", "role": "member"}, key).json()
    assert first["secret"] is not None
    assert again == {**first, "secret": None}


@pytest.mark.parametrize(
    ("who", "body", "status", "code"),
    [
        ("admin", {"name": "x", "role": "operator"}, 403, "missing_right"),
        ("admin", {"name": "x", "role": "node"}, 400, "invalid"),
        ("member", {"name": "x", "role": "member"}, 403, "missing_right"),
        ("operator", {"name": "x", "role": "member"}, 422, "tenant_required"),
        ("operator", {"name": "x", "role": "member", "tenant_id": 999}, 409, "unknown_tenant"),
        ("operator", {"name": "x", "role": "operator", "tenant_id": 1}, 422, "tenant_not_allowed"),
        ("admin", {"name": "x", "role": "member", "expires_at": "soon"}, 400, "invalid"),
    ],
)
def test_refusals(
    request: pytest.FixtureRequest, who: str, body: dict[str, object], status: int, code: str
) -> None:
    api: Api = request.getfixturevalue(who)
    before = ApiToken.objects.count()
    answer = api.post(URL, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert ApiToken.objects.count() == before


def test_an_operator_makes_tokens_for_anyone(operator: Api, world: World) -> None:
    body = {"name": "x", "role": "admin", "tenant_id": world.theirs.pk}
    assert operator.post(URL, body).json()["tenant_id"] == world.theirs.pk
    assert operator.post(URL, {"name": "x", "role": "operator"}).json()["tenant_id"] is None


def test_rotation_overlaps(world: World, operator: Api) -> None:
    old = new_token(Role.MEMBER, world.ours)
    answer = operator.post(f"{URL}{old.pk}/rotate/", {"overlap_s": 600})
    assert answer.status_code == 201
    new = answer.json()
    assert (new["rotated_from_id"], new["role"]) == (old.pk, "member")
    assert Api(new["secret"]).get(ME).status_code == 200
    assert Api(old.secret).get(ME).status_code == 200
    left = ApiToken.objects.get(pk=old.pk).expires_at - timezone.now()  # type: ignore[operator]
    assert timedelta(0) < left <= timedelta(seconds=600)


def test_rotation_without_overlap_ends_the_old_token(world: World, operator: Api) -> None:
    old = new_token(Role.MEMBER, world.ours)
    operator.post(f"{URL}{old.pk}/rotate/", {"overlap_s": 0})
    assert Api(old.secret).get(ME).status_code == 401


def test_rotation_never_prolongs_the_old_token(world: World) -> None:
    now = timezone.now()
    old = new_token(Role.MEMBER, world.ours).token
    ApiToken.objects.filter(pk=old.pk).update(expires_at=now + timedelta(seconds=5))
    tokens.token_rotate(SYSTEM, old, overlap_s=3600, now=now)
    assert ApiToken.objects.get(pk=old.pk).expires_at == now + timedelta(seconds=5)


def test_a_successor_lives_as_long_as_its_predecessor_was_meant_to(world: World) -> None:
    now = timezone.now()
    old = new_token(Role.MEMBER, world.ours).token
    ApiToken.objects.filter(pk=old.pk).update(
        created_at=now - timedelta(days=20), expires_at=now + timedelta(days=10)
    )
    made = tokens.token_rotate(SYSTEM, old, overlap_s=0, now=now)
    assert made.token.expires_at == now + timedelta(days=30)


def test_a_dead_token_is_not_rotated(world: World, operator: Api) -> None:
    old = new_token(Role.MEMBER, world.ours)
    operator.delete(f"{URL}{old.pk}/")
    answer = operator.post(f"{URL}{old.pk}/rotate/")
    assert (answer.status_code, answer.json()["code"]) == (409, "token_dead")


def test_revocation_is_immediate_and_repeatable(world: World, operator: Api) -> None:
    token = new_token(Role.MEMBER, world.ours)
    assert operator.delete(f"{URL}{token.pk}/").status_code == 204
    assert Api(token.secret).get(ME).status_code == 401
    rows = AuditRow.objects.filter(action="token.revoke").count()
    assert operator.delete(f"{URL}{token.pk}/").status_code == 204
    assert AuditRow.objects.filter(action="token.revoke").count() == rows == 1
    assert operator.get(f"{URL}{token.pk}/").json()["revoked_at"] is not None


def test_filters(admin: Api, world: World) -> None:
    new_token(Role.MEMBER, world.ours)
    roles = {item["role"] for item in admin.get(f"{URL}?role=member").json()["items"]}
    assert roles == {"member"}
    assert admin.get(f"{URL}?revoked=true").json()["items"] == []
    assert len(admin.get(f"{URL}?revoked=false").json()["items"]) == 2
    assert admin.get(f"{URL}?revoked=maybe").status_code == 400


@pytest.mark.parametrize(
    ("role", "owned"),
    [("member", False), ("admin", False), ("operator", True), ("node", True), ("attempt", True)],
)
def test_the_database_ties_tenant_and_role(world: World, role: str, owned: bool) -> None:
    owner = world.ours.pk if owned else None
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(name="x", role=role, tenant_id=owner, hash=b"h" * 32, prefix="x")
