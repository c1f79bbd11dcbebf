"""Secrets: written and changed, sealed at rest, shown to nobody."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from pytest_django import Settings

from tenancy import sealing
from tenancy.models import AuditRow, Secret
from tenancy.sealing import SealBroken, seal, unseal
from tenancy.secrets import secret_values, secrets_reseal
from tests.api import Api
from tests.tenancy.conftest import ApiFor, World

SECRETS = "/api/v1/secrets/"
VALUE = "hunter2-canary"


def make(api: Api, name: str = "wandb-key", value: str = VALUE, **fields: Any) -> Any:
    return api.post(SECRETS, {"name": name, "value": value, **fields})


def test_a_value_is_never_shown(member: Api, world: World) -> None:
    made = make(member)
    assert (made.status_code, made.json()["name"]) == (201, "wandb-key")
    shown = [made, member.get(made["Location"]), member.get(SECRETS)]
    assert not [answer for answer in shown if VALUE in answer.content.decode()]
    assert secret_values(world.ours.pk, ["wandb-key", "gone"]) == {"wandb-key": VALUE}


def test_neither_the_database_nor_the_audit_holds_it(member: Api, world: World) -> None:
    make(member)
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(s::text, '') FROM tenancy_secret s")
        assert VALUE not in cursor.fetchone()[0]
    (row,) = AuditRow.objects.filter(action="secret.create")
    assert row.changes == {"name": "wandb-key"}


def test_a_secret_is_rotated_and_deleted(member: Api, world: World) -> None:
    where = make(member)["Location"]
    tag = member.get(where)["ETag"]
    changed = member.patch(where, {"value": "next"}, {"If-Match": tag})
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    assert secret_values(world.ours.pk, ["wandb-key"]) == {"wandb-key": "next"}
    assert member.patch(where, {"value": "late"}, {"If-Match": tag}).status_code == 412
    assert member.delete(where, {"If-Match": changed["ETag"]}).status_code == 204
    actions = AuditRow.objects.filter(object_type="secret").values_list("action", flat=True)
    assert sorted(actions) == ["secret.create", "secret.delete", "secret.update"]


@pytest.mark.parametrize(
    ("fields", "status", "code", "pointer"),
    [
        ({"name": "WANDB_KEY"}, 400, "invalid", "/name"),
        ({"name": "../x"}, 400, "invalid", "/name"),
        ({"value": ""}, 400, "invalid", "/value"),
        ({"value": "x" * 65_537}, 400, "invalid", "/value"),
        ({"value": 1}, 400, "invalid", "/value"),
        ({"tenant_id": 999_999}, 409, "unknown_tenant", "/tenant_id"),
        ({"name": "taken"}, 409, "name_taken", "/name"),
    ],
)
def test_bad_input(
    member: Api, fields: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    make(member, "taken")
    answer = member.post(SECRETS, {"name": "new", "value": "x", **fields})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert VALUE not in answer.content.decode()


def test_another_tenants_are_neither_seen_nor_had(
    member: Api, api_for: ApiFor, world: World
) -> None:
    where = make(member)["Location"]
    stranger = api_for("member", world.theirs)
    assert stranger.get(SECRETS).json()["items"] == []
    assert stranger.get(where).status_code == 404
    assert secret_values(world.theirs.pk, ["wandb-key"]) == {}


def test_a_row_copied_over_anothers_cannot_be_opened(
    member: Api, api_for: ApiFor, world: World
) -> None:
    make(member)
    make(api_for("member", world.theirs), value="theirs")
    stolen = Secret.objects.get(tenant=world.ours)
    Secret.objects.filter(tenant=world.theirs).update(sealed=stolen.sealed)
    with pytest.raises(SealBroken):
        secret_values(world.theirs.pk, ["wandb-key"])


def test_keys_are_rotated(member: Api, world: World, settings: Settings) -> None:
    make(member)
    old, new = settings.SECRETS_KEYS[0], Fernet.generate_key().decode()
    _use_keys(settings, [new, old])
    assert secret_values(world.ours.pk, ["wandb-key"]) == {"wandb-key": VALUE}
    assert (secrets_reseal(), secrets_reseal()) == (1, 0)
    _use_keys(settings, [new])
    assert secret_values(world.ours.pk, ["wandb-key"]) == {"wandb-key": VALUE}
    _use_keys(settings, [old])
    with pytest.raises(SealBroken, match="SECRETS_KEYS"):
        secret_values(world.ours.pk, ["wandb-key"])


def _use_keys(settings: Settings, keys: list[str]) -> None:
    settings.SECRETS_KEYS = keys
    sealing._box.cache_clear()


@pytest.fixture(autouse=True)
def _own_keys(settings: Settings) -> Any:
    sealing._box.cache_clear()
    yield
    sealing._box.cache_clear()


def test_what_is_sealed_twice_looks_different() -> None:
    assert seal("x", "a") != seal("x", "a")
    assert unseal(seal("x\0y", "a"), "a") == "x\0y"
