"""Tenants look at the machines and change nothing; nobody else gets in."""

from typing import Any

import pytest

from clusters.models import Cluster, Gpu, GpuType, Node, Partition
from tariffs.models import CarbonSeries, Tariff
from tenancy.models import AuditRow
from tenancy.roles import Role
from tests.clusters.conftest import api_of
from tests.clusters.http import ClusterApi, refusal

LISTS = [
    "clusters/",
    "partitions/",
    "switches/",
    "racks/",
    "gpu-types/",
    "nodes/",
    "gpus/",
    "tariffs/",
    "carbon-series/",
    "gpu-quotas/",
    "policies/",
]
WRITES: dict[str, Any] = {
    "clusters/": {"name": "x"},
    "partitions/": {"cluster": "berlin", "name": "x"},
    "switches/": {"cluster": "berlin", "name": "x"},
    "racks/": {"cluster": "berlin", "name": "x"},
    "gpu-types/": {"name": "x", "memory_mib": 1, "idle_w": 1, "max_w": 1},
    "nodes/": {"cluster": "berlin", "name": "x", "gpu_type": "A100", "gpu_count": 1},
    "nodes/{node}/drain/": {},
    "nodes/{node}/resume/": {},
    "tariffs/": {"name": "x", "kind": "hourly"},
    "tariffs/{tariff}/hours/": {"csv": "x"},
    "carbon-series/": {"name": "x"},
    "carbon-series/{series}/hours/": {"csv": "x"},
    "join-tokens/": {"cluster": "berlin"},
    "gpu-quotas/": {"tenant_id": 1, "gpu_type": "A100", "gpus": 1},
}
CHANGES = ["clusters/{cluster}/", "nodes/{node}/", "gpus/{gpu}/", "tariffs/{tariff}/"]


@pytest.fixture
def ids(cluster: Cluster, gpu_type: GpuType, node: Node) -> dict[str, int]:
    tariff = Tariff.objects.create(name="spot", kind="hourly")
    series = CarbonSeries.objects.create(name="de")
    Partition.objects.create(cluster=cluster, name="prod")
    gpu = Gpu.objects.earliest("id")
    rows = {"cluster": cluster, "node": node, "tariff": tariff, "series": series, "gpu": gpu}
    return {name: row.pk for name, row in rows.items()}


@pytest.mark.parametrize("path", LISTS)
def test_tenants_may_look(member: ClusterApi, ids: dict[str, int], path: str) -> None:
    assert member.get(path).status_code == 200


@pytest.mark.parametrize("path", WRITES)
def test_tenants_may_not_write(member: ClusterApi, ids: dict[str, int], path: str) -> None:
    before = AuditRow.objects.count()
    answer = member.post(path.format(**ids), WRITES[path])
    assert refusal(answer)[:2] == (403, "missing_right")
    (row,) = AuditRow.objects.order_by("pk")[before:]
    assert (row.action, row.changes["path"]) == ("write.refused", f"/api/v1/{path.format(**ids)}")


@pytest.mark.parametrize("path", CHANGES)
def test_tenants_may_not_change_or_delete(
    member: ClusterApi, ids: dict[str, int], path: str
) -> None:
    there = path.format(**ids)
    assert refusal(member.patch(there, {}))[0] == 403
    assert member.delete(there).status_code in {403, 405}


@pytest.mark.parametrize("path", [*LISTS, "join-tokens/"])
def test_strangers_and_nodes_see_nothing(ids: dict[str, int], path: str) -> None:
    assert ClusterApi("fw_o_" + "x" * 43).get(path).status_code == 401
    assert api_of(Role.NODE).get(path).status_code == 403
