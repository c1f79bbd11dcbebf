"""Nodes and GPUs over HTTP."""

from typing import Any

import pytest

from clusters.models import Cluster, Gpu, GpuType, Node
from scheduler_service.factories import hold, release
from tenancy.models import AuditRow, Tenant
from tests.clusters.conftest import make_node
from tests.clusters.http import ClusterApi, refusal

pytestmark = pytest.mark.usefixtures("cluster", "gpu_type")

BODY: dict[str, Any] = {
    "cluster": "berlin",
    "name": "n1.berlin",
    "gpu_type": "A100",
    "gpu_count": 2,
    "cpus": 8,
    "memory_mib": 1024,
}


def test_create_makes_the_gpus_too(operator: ClusterApi) -> None:
    operator.made("partitions/", {"cluster": "berlin", "name": "prod"})
    operator.made("racks/", {"cluster": "berlin", "name": "r1"})
    made = operator.made("nodes/", {**BODY, "partition": "prod", "rack": "r1"})
    assert (made["state"], made["partition"], made["rack"]) == ("joining", "prod", "r1")
    assert [gpu["index"] for gpu in made["gpus"]] == [0, 1]
    assert all(gpu["uuid"].startswith("GPU-") for gpu in made["gpus"])
    assert operator.get(f"nodes/{made['id']}/").json() == made


def test_uuids_may_be_given(operator: ClusterApi) -> None:
    made = operator.made("nodes/", {**BODY, "gpu_uuids": ["GPU-b", "GPU-a"]})
    assert [gpu["uuid"] for gpu in made["gpus"]] == ["GPU-b", "GPU-a"]
    answer = operator.post("nodes/", {**BODY, "name": "n2", "gpu_uuids": ["GPU-c", "GPU-a"]})
    assert refusal(answer) == (409, "uuid_taken", "/gpu_uuids")
    assert operator.names("nodes/") == ["n1.berlin"]


def test_an_operator_may_say_ready(operator: ClusterApi) -> None:
    assert operator.made("nodes/", {**BODY, "state": "ready"})["state"] == "ready"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"gpu_count": 65}, (400, "/gpu_count")),
        ({"gpu_count": 0}, (400, "/gpu_count")),
        ({"gpu_count": "2"}, (400, "/gpu_count")),
        ({"gpu_uuids": ["GPU-1"]}, (422, "/gpu_uuids")),
        ({"gpu_uuids": ["GPU-1", "GPU-1"]}, (409, "/gpu_uuids")),
        ({"gpu_uuids": ["GPU-1", "no spaces"]}, (400, "/gpu_uuids/1")),
        ({"name": "N1"}, (400, "/name")),
        ({"cluster": "nope"}, (409, "/cluster")),
        ({"gpu_type": "H100"}, (409, "/gpu_type")),
        ({"partition": "nope"}, (409, "/partition")),
        ({"rack": "elsewhere"}, (409, "/rack")),
        ({"state": "lost"}, (400, "/state")),
        ({"cpus": 0}, (400, "/cpus")),
        ({"host_idle_w": 10}, (409, "/host_idle_w")),
        ({"epoch": 3}, (400, "/epoch")),
    ],
)
def test_bad_input_is_refused_where_it_stands(
    operator: ClusterApi, change: dict[str, Any], expected: tuple[int, str]
) -> None:
    operator.made("clusters/", {"name": "munich"})
    operator.made("racks/", {"cluster": "munich", "name": "elsewhere"})
    status, _, pointer = refusal(operator.post("nodes/", {**BODY, **change}))
    assert (status, pointer) == expected
    assert not Node.objects.exists()
    assert not Gpu.objects.exists()


def test_the_database_itself_refuses_another_clusters_rack(operator: ClusterApi) -> None:
    """Should a look-up ever forget its cluster, the composite key still holds."""
    operator.made("clusters/", {"name": "munich"})
    rack = operator.made("racks/", {"cluster": "munich", "name": "elsewhere"})
    node = make_node("n1")
    with pytest.raises(Exception, match="clusters_node_rack_of_cluster"):
        Node.objects.filter(pk=node.pk).update(rack=rack["id"])


def test_update_by_names(operator: ClusterApi) -> None:
    operator.made("partitions/", {"cluster": "berlin", "name": "prod"})
    path = f"nodes/{make_node('n1').pk}/"
    done = operator.patch(path, {"partition": "prod", "cpus": 32}).json()
    assert (done["partition"], done["cpus"], done["version"]) == ("prod", 32, 2)
    assert operator.patch(path, {"partition": None}).json()["partition"] is None
    assert refusal(operator.patch(path, {"rack": "nope"})) == (409, "unknown_rack", "/rack")
    assert refusal(operator.patch(path, {"name": "other"})) == (400, "invalid", "/name")


def test_cpus_do_not_sink_below_use(operator: ClusterApi) -> None:
    node = make_node("n1")
    Node.objects.update(cpus_used=10)
    answer = operator.patch(f"nodes/{node.pk}/", {"cpus": 9})
    assert refusal(answer) == (409, "below_use", "/cpus")


def test_an_idle_node_is_drained_at_once(operator: ClusterApi) -> None:
    node = make_node("n1")
    answer = operator.post(f"nodes/{node.pk}/drain/", {"reason": "new fans"})
    assert answer.status_code == 200, answer.content
    assert (answer.json()["state"], answer.json()["state_reason"]) == ("drained", "new fans")
    assert operator.post(f"nodes/{node.pk}/resume/").json()["state"] == "ready"
    actions = list(AuditRow.objects.order_by("id").values_list("action", flat=True))
    assert actions[-2:] == ["node.drain", "node.resume"]


def test_a_node_at_work_drains_and_cannot_be_deleted(operator: ClusterApi, tenant: Tenant) -> None:
    node = make_node("n1")
    attempt = hold(tenant, node)
    path = f"nodes/{node.pk}/"
    assert operator.post(f"{path}drain/").json()["state"] == "draining"
    assert operator.post(f"{path}drain/").json()["state"] == "draining"
    assert refusal(operator.delete(path))[:2] == (409, "node_holds_work")
    release(attempt)
    assert refusal(operator.delete(path))[:2] == (409, "in_use")
    assert operator.get(path).status_code == 200


def test_a_node_without_history_can_be_deleted(operator: ClusterApi) -> None:
    node = make_node("n1")
    assert operator.delete(f"nodes/{node.pk}/").status_code == 204
    assert not Gpu.objects.exists()


def test_a_lost_node_cannot_be_drained(operator: ClusterApi) -> None:
    node = make_node("n1")
    Node.objects.update(state=Node.State.LOST)
    assert refusal(operator.post(f"nodes/{node.pk}/drain/"))[:2] == (409, "illegal_move")
    assert refusal(operator.post(f"nodes/{node.pk}/resume/"))[:2] == (409, "illegal_move")


def test_the_same_key_drains_once(operator: ClusterApi) -> None:
    path = f"nodes/{make_node('n1').pk}/"
    key = {"Idempotency-Key": "drain-1"}
    first = operator.post(f"{path}drain/", {"reason": "x"}, **key)
    operator.post(f"{path}resume/")
    again = operator.post(f"{path}drain/", {"reason": "x"}, **key)
    assert first.json() == again.json()
    assert operator.get(path).json()["state"] == "ready"


def test_filters(operator: ClusterApi) -> None:
    operator.made("clusters/", {"name": "munich"})
    operator.made("partitions/", {"cluster": "berlin", "name": "prod"})
    make_node("n1", partition="prod")
    make_node("n2", state=Node.State.JOINING)
    make_node("m1", cluster="munich")
    assert operator.names("nodes/?cluster=berlin&ordering=id") == ["n1", "n2"]
    assert operator.names("nodes/?partition=prod") == ["n1"]
    assert operator.names("nodes/?state=joining") == ["n2"]
    assert operator.names("nodes/?gpu_type=H100") == []
    assert refusal(operator.get("nodes/?state=nope")) == (400, "invalid", "?state")
    assert refusal(operator.get("nodes/?colour=red")) == (400, "unknown_parameter", "?colour")


def test_listing_nodes_takes_as_many_queries_as_one_node(
    operator: ClusterApi, django_assert_num_queries: Any
) -> None:
    make_node("n1")
    # Login, nodes, and their GPUs.
    with django_assert_num_queries(3):
        operator.names("nodes/")
    make_node("n2")
    with django_assert_num_queries(3):
        assert operator.names("nodes/") == ["n2", "n1"]


def test_gpu_health(operator: ClusterApi) -> None:
    node = make_node("n1")
    gpu = operator.get(f"gpus/?node_id={node.pk}&ordering=id").json()["items"][0]
    assert (gpu["node"], gpu["cluster"], gpu["gpu_type"]) == ("n1", "berlin", "A100")
    path = f"gpus/{gpu['id']}/"
    sick = operator.patch(path, {"healthy": False, "health_reason": "ecc"}).json()
    assert (sick["healthy"], sick["health_reason"], sick["version"]) == (False, "ecc", 2)
    assert operator.names("gpus/?healthy=false", "id") == [gpu["id"]]
    well = operator.patch(path, {"healthy": True}).json()
    assert (well["healthy"], well["health_reason"]) == (True, "")
    assert operator.patch(path, {"healthy": False}, if_match='"gpu1-1"').status_code == 412
    assert refusal(operator.patch(path, {"uuid": "x"})) == (400, "invalid", "/uuid")


def test_gpu_types_keep_their_name_and_sort_clocks(operator: ClusterApi, gpu_type: GpuType) -> None:
    path = f"gpu-types/{gpu_type.pk}/"
    done = operator.patch(path, {"clocks_mhz": [1410, 705, 1410]}).json()
    assert done["clocks_mhz"] == [705, 1410]
    assert refusal(operator.patch(path, {"name": "B100"})) == (400, "invalid", "/name")
    assert refusal(operator.patch(path, {"idle_w": 401})) == (409, "out_of_range", "/idle_w")


def test_a_gpu_type_in_use_stays(operator: ClusterApi, gpu_type: GpuType) -> None:
    make_node("n1")
    assert refusal(operator.delete(f"gpu-types/{gpu_type.pk}/"))[:2] == (409, "in_use")
    Node.objects.all().delete()
    assert operator.delete(f"gpu-types/{gpu_type.pk}/").status_code == 204


def test_a_cluster_with_nodes_stays(operator: ClusterApi, cluster: Cluster) -> None:
    operator.made("racks/", {"cluster": "berlin", "name": "r1"})
    make_node("n1", rack="r1")
    assert refusal(operator.delete(f"clusters/{cluster.pk}/"))[:2] == (409, "in_use")
    assert operator.names("racks/") == ["r1"]
