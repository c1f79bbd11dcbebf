"""Partitions, switches and racks over HTTP."""

import pytest

from clusters.models import Cluster
from tests.clusters.conftest import make_node
from tests.clusters.http import ClusterApi, refusal

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.mark.parametrize("path", ["partitions/", "switches/", "racks/"])
def test_life_of_a_slice(operator: ClusterApi, path: str) -> None:
    made = operator.made(path, {"cluster": "berlin", "name": "a"})
    assert (made["cluster"], made["name"], made["version"]) == ("berlin", "a", 1)
    taken = operator.post(path, {"cluster": "berlin", "name": "a"})
    assert refusal(taken) == (409, "name_taken", "/name")
    unknown = operator.post(path, {"cluster": "nope", "name": "b"})
    assert refusal(unknown) == (409, "unknown_cluster", "/cluster")
    itself = f"{path}{made['id']}/"
    assert operator.patch(itself, {"name": "b"}).json()["name"] == "b"
    assert refusal(operator.patch(itself, {"cluster": "x"}))[2] == "/cluster"
    assert operator.names(f"{path}?cluster=berlin") == ["b"]
    assert operator.names(f"{path}?cluster=munich") == []
    assert operator.delete(itself).status_code == 204
    assert operator.get(itself).status_code == 404


def test_lending_partitions(operator: ClusterApi) -> None:
    made = operator.made("partitions/", {"cluster": "berlin", "name": "prod", "lends": True})
    assert operator.names("partitions/?lends=true") == ["prod"]
    assert operator.patch(f"partitions/{made['id']}/", {"lends": False}).json()["lends"] is False


def test_racks_hang_on_switches_of_their_cluster(operator: ClusterApi) -> None:
    operator.made("clusters/", {"name": "munich"})
    operator.made("switches/", {"cluster": "munich", "name": "far"})
    operator.made("switches/", {"cluster": "berlin", "name": "near"})
    far = operator.post("racks/", {"cluster": "berlin", "name": "r1", "switch": "far"})
    assert refusal(far) == (409, "unknown_switch", "/switch")
    made = operator.made("racks/", {"cluster": "berlin", "name": "r1", "switch": "near"})
    itself = f"racks/{made['id']}/"
    assert operator.names("racks/?switch=near") == ["r1"]
    assert refusal(operator.patch(itself, {"switch": "far"}))[1] == "unknown_switch"
    assert operator.patch(itself, {"switch": None}).json()["switch"] is None


@pytest.mark.usefixtures("gpu_type")
def test_what_nodes_stand_in_stays(operator: ClusterApi, cluster: Cluster) -> None:
    rack = operator.made("racks/", {"cluster": "berlin", "name": "r1"})
    partition = operator.made("partitions/", {"cluster": "berlin", "name": "prod"})
    make_node("n1", rack="r1", partition="prod")
    assert refusal(operator.delete(f"racks/{rack['id']}/"))[:2] == (409, "in_use")
    assert refusal(operator.delete(f"partitions/{partition['id']}/"))[:2] == (409, "in_use")
