"""Bearer tokens: who is let in, and that every refusal looks the same."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rest.version import VERSION
from tenancy.models import ApiToken
from tenancy.roles import Role
from tenancy.token_text import hash_of, looks_like_token, new_secret
from tests.api import Api
from tests.tenancy.conftest import World, new_token

ME = "/api/v1/me/"


@pytest.mark.parametrize("role", list(Role))
def test_token_texts(role: Role) -> None:
    secret = new_secret(role)
    assert looks_like_token(secret)
    assert len(secret) == 48
    assert new_secret(role) != secret
    assert len(hash_of(secret)) == 32


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Basic YTpi",
        "Bearer fw_o_" + "x" * 42,
        "Bearer fw_o_" + "x" * 43,
        "Bearer fw_z_" + "x" * 43,
        "Bearer fw_o_" + "é" * 43,
        "fw_o_" + "x" * 43,
    ],
)
def test_strangers_are_refused_alike(world: World, header: str | None) -> None:
    answer = Api().get(ME, {"Authorization": header} if header is not None else None)
    _assert_refused(answer)


def _assert_refused(answer: object) -> None:
    assert answer.status_code == 401  # type: ignore[attr-defined]
    assert answer["WWW-Authenticate"] == 'Bearer realm="fairwatt"'  # type: ignore[index]
    body = answer.json()  # type: ignore[attr-defined]
    assert body.pop("request_id")
    assert body == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "code": "unauthenticated",
        "detail": "Send a valid token as `Authorization: Bearer TOKEN`.",
        "instance": ME,
        "errors": [],
    }


def test_expired_and_revoked_tokens_are_refused_like_unknown_ones(world: World) -> None:
    expired, revoked = (new_token(Role.MEMBER, world.ours) for _ in range(2))
    past = timezone.now() - timedelta(seconds=1)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=past)
    ApiToken.objects.filter(pk=revoked.pk).update(revoked_at=past)
    _assert_refused(Api(expired.secret).get(ME))
    _assert_refused(Api(revoked.secret).get(ME))


def test_a_token_that_will_expire_still_works(world: World) -> None:
    token = new_token(Role.MEMBER, world.ours)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() + timedelta(minutes=1))
    assert Api(token.secret).get(ME).status_code == 200


def test_me_says_who_and_what(world: World) -> None:
    token = new_token(Role.ADMIN, world.ours)
    me = Api(token.secret).get(ME).json()
    assert (me["token_id"], me["role"], me["tenant_name"]) == (token.pk, "admin", "ours")
    assert "tokens.write" in me["rights"]
    assert "tenants.write" not in me["rights"]
    assert me["service_version"] == VERSION


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_case_insensitive(world: World, scheme: str) -> None:
    secret = new_token(Role.MEMBER, world.ours).secret
    assert Api().get(ME, {"Authorization": f"{scheme} {secret}"}).status_code == 200


def test_login_is_one_round_trip(world: World) -> None:
    api = Api(new_token(Role.MEMBER, world.ours).secret)
    api.get(ME)
    with CaptureQueriesContext(connection) as queries:
        api.get(ME)
    assert len(queries) == 1


def test_last_use_is_noted_once_a_minute(world: World) -> None:
    token = new_token(Role.MEMBER, world.ours)
    api = Api(token.secret)
    api.get(ME)
    first = ApiToken.objects.get(pk=token.pk).last_used_at
    assert first is not None
    api.get(ME)
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=first - timedelta(seconds=61))
    api.get(ME)
    assert ApiToken.objects.filter(pk=token.pk, last_used_at__gte=first).exists()


def test_only_the_hash_is_kept(world: World) -> None:
    token = new_token(Role.MEMBER, world.ours)
    row = ApiToken.objects.get(pk=token.pk)
    assert bytes(row.hash) == hash_of(token.secret)
    assert row.prefix == token.secret[:13]
    assert token.secret not in str(row.__dict__)
