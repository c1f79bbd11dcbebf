"""Volumes: declared by operators, seen by the tenants that may mount them."""

from typing import Any

import pytest

from clusters.models import Cluster, Volume
from tenancy.models import Tenant
from tenancy.roles import Role
from tests.clusters.conftest import api_of
from tests.clusters.http import ClusterApi

VOLUMES = "volumes/"


def declare(api: ClusterApi, name: str = "datasets", **fields: Any) -> Any:
    return api.post(VOLUMES, {"cluster": "berlin", "name": name, "path": "/srv/data", **fields})


def test_a_tenant_sees_what_it_may_mount(
    operator: ClusterApi, member: ClusterApi, tenant: Tenant, other_tenant: Tenant, cluster: Cluster
) -> None:
    made = declare(operator, everyone=True)
    assert (made.status_code, made.json()["read_only"]) == (201, True)
    declare(operator, "ours", tenants=[tenant.name], read_only=False)
    declare(operator, "theirs", tenants=[other_tenant.name])
    listed = member.get(VOLUMES).json()["items"]
    assert [each["name"] for each in listed] == ["ours", "datasets"]
    assert {each["tenants"] for each in listed} == {None}
    stranger = api_of(Role.MEMBER, other_tenant)
    assert {each["name"] for each in stranger.get(VOLUMES).json()["items"]} == {
        "datasets",
        "theirs",
    }
    assert len(operator.get(VOLUMES).json()["items"]) == 3


def test_grants_are_replaced(
    operator: ClusterApi, tenant: Tenant, other_tenant: Tenant, cluster: Cluster
) -> None:
    made = declare(operator, tenants=[tenant.name])
    itself = f"{VOLUMES}{made.json()['id']}/"
    changed = operator.patch(itself, {"tenants": [other_tenant.name]}, made["ETag"])
    assert changed.json()["tenants"] == [other_tenant.name]


@pytest.mark.parametrize(
    ("fields", "status", "pointer"),
    [
        ({"path": "srv"}, 400, "/path"),
        ({"path": "/"}, 400, "/path"),
        ({"path": "/srv/../etc"}, 400, "/path"),
        ({"path": "/srv/" + "x" * 1024}, 400, "/path"),
        ({"name": "Data Sets"}, 400, "/name"),
        ({"cluster": "nowhere"}, 409, "/cluster"),
        ({"tenants": ["nobody"]}, 409, "/tenants/0"),
        ({"tenants": ["acme", "acme"]}, 409, "/tenants"),
    ],
)
@pytest.mark.usefixtures("cluster", "tenant")
def test_bad_input(operator: ClusterApi, fields: dict[str, Any], status: int, pointer: str) -> None:
    answer = declare(operator, **fields)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer)
    assert not Volume.objects.exists()


def test_members_declare_nothing(member: ClusterApi, cluster: Cluster) -> None:
    assert declare(member).status_code == 403
