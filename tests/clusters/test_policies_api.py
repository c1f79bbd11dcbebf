"""The registry over HTTP: what is listed can be set, with the parameters it says."""

from typing import Any

import pytest

from clusters.api.parameters import PARAMETERS
from clusters.models import Cluster
from clusters.policy_choice import parameter_names
from policies import registry
from tests.clusters.http import ClusterApi, refusal


def test_every_policy_is_listed(member: ClusterApi) -> None:
    page = member.get("policies/").json()
    assert [item["name"] for item in page["items"]] == list(registry.policy_names())
    assert page["next"] is None


def test_one_policy(member: ClusterApi) -> None:
    shown = member.get("policies/priority/").json()
    assert shown["summary"] == registry.summary("priority")
    assert shown["parameters"]["properties"]["ageing_s"]["default"] == 3600.0
    assert shown["promises"] == ["work_conserving"]
    assert member.get("policies/fifo/").json()["promises"] == []
    assert refusal(member.get("policies/nope/"))[:2] == (404, "not_found")


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", registry.policy_names())
def test_a_policy_with_its_own_defaults_can_be_set(
    operator: ClusterApi, cluster: Cluster, name: str
) -> None:
    properties: dict[str, Any] = registry.parameter_schema(name)["properties"]
    defaults = {k: _as_json(said["default"]) for k, said in properties.items()}
    change = {"policy": name, "policy_parameters": defaults}
    answer = operator.patch(f"clusters/{cluster.pk}/", change)
    assert answer.status_code == 200, answer.content
    assert answer.json()["policy_parameters"] == defaults


def test_the_published_schema_knows_every_parameter() -> None:
    assert set(PARAMETERS["properties"]) == parameter_names()
    assert PARAMETERS["additionalProperties"] is False
