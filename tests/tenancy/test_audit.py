"""The audit is append-only and tells each tenant its own."""

import pytest
from django.db import DatabaseError, connection, transaction

from tenancy import audit
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow
from tests.api import Api
from tests.tenancy.conftest import World

URL = "/api/v1/audit/"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE tenancy_auditrow SET action = 'other'",
        "DELETE FROM tenancy_auditrow",
        "DELETE FROM tenancy_auditrow WHERE false",
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
