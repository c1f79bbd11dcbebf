"""The audit is append-only and tells each tenant its own."""

import time

import pytest
from django.db import DatabaseError, connection, transaction

from tenancy import audit, permissions
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow, Tenant
from tests.api import Api
from tests.tenancy.conftest import World

URL = "/api/v1/audit/"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE tenancy_auditrow SET action = 'other'",
        "DELETE FROM tenancy_auditrow",
        "DELETE FROM tenancy_auditrow WHERE false",
        "TRUNCATE tenancy_auditrow",
    ],
)
def test_it_cannot_be_changed(world: World, sql: str) -> None:
    count = AuditRow.objects.count()
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    assert AuditRow.objects.count() == count > 0


def test_filters(operator: Api, world: World) -> None:
    audit.record(SYSTEM, "job.cancel", None, {"why": "test"}, tenant_id=world.ours.pk)
    assert [r["action"] for r in operator.get(f"{URL}?action=job.cancel").json()["items"]] == [
        "job.cancel"
    ]
    found = operator.get(f"{URL}?tenant_id={world.theirs.pk}").json()["items"]
    assert {row["tenant_id"] for row in found} == {world.theirs.pk}
    assert operator.get(f"{URL}?since=2100-01-01T00:00:00Z").json()["items"] == []
    assert operator.get(f"{URL}?until=2000-01-01T00:00:00Z").json()["items"] == []
    assert operator.get(f"{URL}?object_type=tenant&object_id={world.ours.pk}").json()["items"]


def test_admins_read_their_own_and_members_none(admin: Api, member: Api, world: World) -> None:
    assert {row["tenant_id"] for row in admin.get(URL).json()["items"]} == {world.ours.pk}
    assert member.get(URL).status_code == 403


def test_there_is_no_writing_it_over_http(operator: Api) -> None:
    row = operator.get(URL).json()["items"][0]["id"]
    for answer in (operator.post(URL), operator.delete(f"{URL}{row}/")):
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_walking_the_audit_by_time(operator: Api, world: World) -> None:
    first = operator.get(f"{URL}?limit=2&ordering=at").json()
    second = operator.get(f"{URL}?limit=2&ordering=at&cursor={first['next']}").json()
    ids = [row["id"] for row in first["items"] + second["items"]]
    assert ids == sorted(ids)
    assert len(set(ids)) == 4 or second["next"] is None


def test_a_write_without_the_right_is_told(member: Api, admin: Api, world: World) -> None:
    answer = member.post("/api/v1/tenants/", {"name": "mine"})
    assert answer.status_code == 403
    (row,) = admin.get(f"{URL}?action=write.refused").json()["items"]
    assert (row["role"], row["tenant_id"]) == ("member", world.ours.pk)
    assert row["request_id"] == answer["X-Request-ID"]
    assert row["changes"] == {
        "right": "tenants.write",
        "code": "missing_right",
        "method": "POST",
        "path": "/api/v1/tenants/",
    }


def test_a_suspended_tenant_that_writes_is_told(member: Api, operator: Api, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(suspended=True)
    secret = {"name": "key", "value": "hush"}
    assert member.post("/api/v1/secrets/", secret).json()["code"] == "tenant_suspended"
    (row,) = operator.get(f"{URL}?action=write.refused").json()["items"]
    assert row["changes"]["code"] == "tenant_suspended"
    assert "hush" not in str(row)


def test_a_read_without_the_right_is_not_told(member: Api) -> None:
    assert member.get(URL).status_code == 403
    assert not AuditRow.objects.filter(action="write.refused").exists()


def test_a_program_that_asks_in_a_loop_is_told_of_a_few_times(
    member: Api, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions, "REFUSALS_PER_MINUTE", 2)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    for _ in range(5):
        assert member.post("/api/v1/tenants/", {}).status_code == 403
    assert AuditRow.objects.filter(action="write.refused").count() == 2
    admin.post("/api/v1/tenants/", {})
    assert AuditRow.objects.filter(action="write.refused").count() == 3
