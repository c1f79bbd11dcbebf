"""Tenants over HTTP: create, read, change, delete, and the words of refusals."""

import pytest

from tenancy.models import AuditRow, Tenant
from tenancy.roles import Role
from tests.tenancy.conftest import ClientFor, World

pytestmark = pytest.mark.django_db
URL = "/api/v1/tenants/"


def test_operator_creates_a_tenant(client_for: ClientFor) -> None:
    body = {"name": "vision-lab", "display_name": "Vision", "gpu_quota": 8, "weight": "1.5"}
    answer = client_for(Role.OPERATOR).post(URL, body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert answer["Location"] == f"{URL}{made['id']}/"
    assert answer["ETag"] == f'"tenant{made["id"]}-1"'
    assert made["weight"] == "1.500"
    assert made["created_at"].endswith("Z")
    audited = AuditRow.objects.filter(action="tenant.create").latest("id")
    assert (audited.object_id, audited.role) == (made["id"], "operator")
    assert audited.request_id == answer["X-Request-ID"]
    assert Tenant.objects.get(name="vision-lab").gpu_quota == 8


def test_tenant_reads_itself_only(client_for: ClientFor, world: World) -> None:
    client = client_for(Role.MEMBER)
    assert [t["name"] for t in client.get(URL).json()["items"]] == ["ours"]
    assert client.get(f"{URL}{world.ours.id}/").status_code == 200
    assert client.get(f"{URL}{world.theirs.id}/").status_code == 404


def test_patch_needs_the_current_etag(client_for: ClientFor, world: World) -> None:
    client = client_for(Role.OPERATOR)
    url = f"{URL}{world.ours.id}/"
    kwargs = {"content_type": "application/json"}
    assert client.patch(url, {"gpu_quota": 5}, **kwargs).json()["code"] == "precondition_required"
    tag = client.get(url)["ETag"]
    done = client.patch(url, {"gpu_quota": 5}, headers={"If-Match": tag}, **kwargs)
    assert (done.status_code, done.json()["gpu_quota"]) == (200, 5)
    again = client.patch(url, {"gpu_quota": 6}, headers={"If-Match": tag}, **kwargs)
    assert (again.status_code, again.json()["code"]) == (412, "precondition_failed")
    assert client.get(url, headers={"If-None-Match": done["ETag"]}).status_code == 304
