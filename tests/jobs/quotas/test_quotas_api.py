"""Quotas per GPU type: operators set them, and they count from the first moment."""

import pytest

from clusters.models import Node
from jobs.models import GpuQuota
from scheduler_service.factories import hold, release
from tenancy.models import Tenant
from tests.clusters.conftest import make_node
from tests.clusters.http import ClusterApi, refusal


def test_life_of_a_quota(operator: ClusterApi, tenant: Tenant, node: Node) -> None:
    body = {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 4}
    made = operator.made("gpu-quotas/", body)
    assert (made["gpu_type"], made["gpus"], made["gpus_in_use"]) == ("A100", 4, 0)
    again = operator.post("gpu-quotas/", body)
    assert refusal(again) == (409, "already_set", "/gpu_type")
    path = f"gpu-quotas/{made['id']}/"
    assert operator.patch(path, {"gpus": 8}).json()["gpus"] == 8
    assert operator.names(f"gpu-quotas/?tenant_id={tenant.pk}", "gpus") == [8]
    assert operator.delete(path).status_code == 204


def test_a_new_quota_counts_what_is_held_already(
    operator: ClusterApi, tenant: Tenant, other_tenant: Tenant, node: Node
) -> None:
    operator.made("gpu-types/", {"name": "H100", "memory_mib": 1, "idle_w": 1, "max_w": 2})
    hold(tenant, node, gpus=2)
    hold(tenant, make_node("h1", gpu_type="H100"))
    hold(other_tenant, make_node("n2"))
    release(hold(tenant, make_node("n3")))
    body = {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 1}
    assert refusal(operator.post("gpu-quotas/", body)) == (409, "quota_below_use", "/gpus")
    assert operator.made("gpu-quotas/", {**body, "gpus": 2})["gpus_in_use"] == 2


def test_a_quota_does_not_sink_below_use(operator: ClusterApi, tenant: Tenant, node: Node) -> None:
    hold(tenant, node, gpus=2)
    body = {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 2}
    path = f"gpu-quotas/{operator.made('gpu-quotas/', body)['id']}/"
    assert refusal(operator.patch(path, {"gpus": 1})) == (409, "quota_below_use", "/gpus")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"tenant_id": 999_999}, (409, "unknown_tenant", "/tenant_id")),
        ({"gpu_type": "B200"}, (409, "unknown_gpu_type", "/gpu_type")),
        ({"gpus": -1}, (400, "invalid", "/gpus")),
        ({"gpus": None}, (400, "invalid", "/gpus")),
    ],
)
def test_bad_input(
    operator: ClusterApi,
    tenant: Tenant,
    node: Node,
    change: dict[str, object],
    expected: tuple[int, str, str],
) -> None:
    body = {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 4, **change}
    assert refusal(operator.post("gpu-quotas/", body)) == expected
    assert not GpuQuota.objects.exists()


def test_a_tenant_sees_its_own(
    operator: ClusterApi, member: ClusterApi, tenant: Tenant, other_tenant: Tenant, node: Node
) -> None:
    own = operator.made("gpu-quotas/", {"tenant_id": tenant.pk, "gpu_type": "A100", "gpus": 4})
    theirs = operator.made(
        "gpu-quotas/", {"tenant_id": other_tenant.pk, "gpu_type": "A100", "gpus": 5}
    )
    assert member.names("gpu-quotas/", "gpus") == [4]
    assert member.get(f"gpu-quotas/{own['id']}/").status_code == 200
    assert member.get(f"gpu-quotas/{theirs['id']}/").status_code == 404
    assert member.names(f"gpu-quotas/?tenant_id={other_tenant.pk}", "gpus") == []
