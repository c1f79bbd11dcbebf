"""Tenants over HTTP: create, read, change, delete, and the words of refusals."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from rest.etag import update_versioned
from rest.problems import Problem
from tenancy.models import AuditRow, Tenant
from tests.api import Api
from tests.tenancy.conftest import World

URL = "/api/v1/tenants/"


def test_operator_creates_a_tenant(operator: Api) -> None:
    body = {"name": "vision-lab", "display_name": "Vision", "gpu_quota": 8, "weight": "1.5"}
    answer = operator.post(URL, body)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["Location"] == f"{URL}{made['id']}/"
    assert answer["ETag"] == f'"tenant{made["id"]}-1"'
    assert made["weight"] == "1.500"
    assert made["created_at"].endswith("Z")
    assert operator.get(answer["Location"]).json() == made


def test_what_was_done_is_audited_with_the_request(operator: Api) -> None:
    answer = operator.post(URL, {"name": "lab", "display_name": "Lab"})
    row = AuditRow.objects.latest("id")
    assert (row.action, row.object_type, row.object_id) == (
        "tenant.create",
        "tenant",
        answer.json()["id"],
    )
    assert (row.role, row.request_id) == ("operator", answer["X-Request-ID"])
    assert row.changes == {"name": "lab", "display_name": "Lab", "weight": "1"}


def test_a_refused_write_leaves_no_audit_row(operator: Api, world: World) -> None:
    before = AuditRow.objects.count()
    answer = operator.post(URL, {"name": "ours", "display_name": "Twin"})
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert answer.json()["errors"][0]["pointer"] == "/name"
    assert AuditRow.objects.count() == before


def test_a_tenant_reads_itself_only(member: Api, world: World) -> None:
    assert [item["name"] for item in member.get(URL).json()["items"]] == ["ours"]
    assert member.get(f"{URL}{world.ours.pk}/").status_code == 200
    assert member.get(f"{URL}{world.theirs.pk}/").status_code == 404


def test_only_operators_write(admin: Api, world: World) -> None:
    url = f"{URL}{world.ours.pk}/"
    for answer in (
        admin.post(URL, {"name": "x", "display_name": "X"}),
        admin.patch(url, {"gpu_quota": 9}, {"If-Match": "*"}),
        admin.delete(url, {"If-Match": "*"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "missing_right")


def test_a_change_needs_the_current_etag(operator: Api, world: World) -> None:
    url = f"{URL}{world.ours.pk}/"
    assert operator.patch(url, {"gpu_quota": 5}).json()["code"] == "precondition_required"
    tag = operator.get(url)["ETag"]
    done = operator.patch(url, {"gpu_quota": 5}, {"If-Match": tag})
    assert (done.status_code, done.json()["gpu_quota"], done.json()["version"]) == (200, 5, 2)
    assert done.json()["updated_at"] > done.json()["created_at"]
    again = operator.patch(url, {"gpu_quota": 6}, {"If-Match": tag})
    assert (again.status_code, again.json()["code"]) == (412, "precondition_failed")
    assert again["ETag"] == done["ETag"]
    assert operator.get(url, {"If-None-Match": done["ETag"]}).status_code == 304
    assert operator.get(url, {"If-None-Match": tag}).status_code == 200


def test_a_change_of_nothing_changes_nothing(operator: Api, world: World) -> None:
    answer = operator.patch(f"{URL}{world.ours.pk}/", {}, {"If-Match": "*"})
    assert (answer.status_code, answer.json()["version"]) == (200, 1)


def test_null_lifts_a_quota(operator: Api, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(gpu_quota=4)
    answer = operator.patch(f"{URL}{world.ours.pk}/", {"gpu_quota": None}, {"If-Match": "*"})
    assert answer.json()["gpu_quota"] is None


def test_a_quota_below_use_is_refused(operator: Api, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(gpus_in_use=3)
    answer = operator.patch(f"{URL}{world.ours.pk}/", {"gpu_quota": 2}, {"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_below_use")


@pytest.mark.parametrize(
    "changes", [{"gpus_in_use": 5, "gpu_quota": 4}, {"gpus_in_use": -1}, {"weight": 0}]
)
def test_the_database_holds_the_quota(world: World, changes: dict[str, int]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Tenant.objects.filter(pk=world.ours.pk).update(**changes)


def test_a_stale_writer_is_counted_out(world: World) -> None:
    mine, yours = (Tenant.objects.get(pk=world.ours.pk) for _ in range(2))
    update_versioned(mine, {"display_name": "first"})
    with pytest.raises(Problem) as refused:
        update_versioned(yours, {"display_name": "second"})
    assert refused.value.status_code == 412
    assert Tenant.objects.get(pk=world.ours.pk).display_name == "first"


def test_a_tenant_is_deleted(operator: Api, world: World) -> None:
    url = f"{URL}{world.theirs.pk}/"
    answer = operator.delete(url, {"If-Match": operator.get(url)["ETag"]})
    assert (answer.status_code, answer.content) == (204, b"")
    assert operator.get(url).status_code == 404
    assert AuditRow.objects.latest("id").changes == {"name": "theirs"}


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"display_name": "X"}, "/name", "required"),
        ({"name": "UPPER", "display_name": "X"}, "/name", "pattern"),
        ({"name": "a", "display_name": ""}, "/display_name", "blank"),
        ({"name": "a", "display_name": "X", "gpu_quota": "8"}, "/gpu_quota", "invalid"),
        ({"name": "a", "display_name": "X", "gpu_quota": 10**30}, "/gpu_quota", "max_value"),
        ({"name": "a", "display_name": "X", "weight": 1.5}, "/weight", "not_text"),
        ({"name": "a", "display_name": "X", "weight": "0"}, "/weight", "notation"),
        ({"name": "a", "display_name": "X", "id": 7}, "/id", "unknown_field"),
        ({"name": "a", "display_name": "X", "gpus_in_use": 7}, "/gpus_in_use", "unknown_field"),
    ],
)
def test_bad_input(operator: Api, body: dict[str, object], pointer: str, code: str) -> None:
    answer = operator.post(URL, body)
    assert answer.status_code == 400
    assert [(e["pointer"], e["code"]) for e in answer.json()["errors"]] == [(pointer, code)]


def test_a_create_costs_few_round_trips(operator: Api) -> None:
    """Login; the transaction's key look-up, insert, audit row and kept answer."""
    with CaptureQueriesContext(connection) as queries:
        operator.post(URL, {"name": "lab", "display_name": "Lab"}, {"Idempotency-Key": "k"})
    sent = [q["sql"] for q in queries if "SAVEPOINT" not in q["sql"]]
    assert [sql.split()[0] for sql in sent] == ["SELECT", "SELECT", "INSERT", "INSERT", "INSERT"]


def test_a_suspended_tenant_reads_but_does_not_write(admin: Api, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(suspended=True)
    assert admin.get(URL).status_code == 200
    answer = admin.post("/api/v1/tokens/", {"name": "x", "role": "member"})
    assert (answer.status_code, answer.json()["code"]) == (403, "tenant_suspended")
