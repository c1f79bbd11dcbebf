"""The live queue in a cluster that is otherwise: nodes more or less, watts, another tariff."""

from typing import Any

import pytest

from clusters.models import Node
from scheduler_service.factories import NOW, hold, make_jobs
from tariffs.models import Tariff
from tests.api import Api
from tests.whatif.conftest import SIMULATIONS, Messages, World

LIVE: dict[str, Any] = {"live": True, "cluster": "demo"}


def makespans(operator: Api, messages: Messages, **changes: Any) -> dict[str, Any]:
    """Figures as it is, and with the changes; by label."""
    policies = [{"name": "fifo"}, {"name": "fifo", "label": "otherwise", "changes": changes}]
    asked = operator.post(SIMULATIONS, {**LIVE, "policies": policies})
    assert asked.status_code == 201, asked.content
    messages.work(NOW)
    found = operator.get(f"{SIMULATIONS}{asked.json()['id']}/results/").json()["intervals"]
    return {label: figures["makespan_s"]["mean"] for label, figures in found.items()}


@pytest.fixture
def queue(world: World) -> None:
    """Two hours of all eight GPUs, more or less: run times scatter by the seed."""
    make_jobs(world.cluster, world.ours, 8, min_gpus=2, max_gpus=2, estimated_run_s=3600)


@pytest.mark.usefixtures("queue")
def test_nodes_more_are_done_sooner(operator: Api, messages: Messages) -> None:
    took = makespans(operator, messages, add_nodes=[{"like": "n0", "count": 2}])
    assert took["fifo"] > 1.5 * took["otherwise"]


@pytest.mark.usefixtures("queue")
def test_nodes_less_take_longer(operator: Api, messages: Messages) -> None:
    took = makespans(operator, messages, remove_nodes=["n0"])
    assert took["otherwise"] > 1.4 * took["fifo"]


def test_work_on_a_node_that_goes_is_finished(
    operator: Api, messages: Messages, world: World
) -> None:
    """What runs there ends as it would have; only what waits is later."""
    hold(world.ours, world.nodes[0], 4)
    make_jobs(world.cluster, world.ours, 2, min_gpus=4, max_gpus=4, estimated_run_s=3600)
    took = makespans(operator, messages, remove_nodes=[world.nodes[0].name])
    assert took["otherwise"] >= took["fifo"] > 0


@pytest.mark.usefixtures("queue")
def test_fewer_watts_take_longer(operator: Api, messages: Messages) -> None:
    """Of eight GPUs at 400 W so much is allowed that half of them idle."""
    took = makespans(operator, messages, power_budget_w=4 * 400 + 4 * 60)
    assert took["otherwise"] >= 1.5 * took["fifo"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"remove_nodes": ["none"]}, "/policies/0/changes/remove_nodes/0"),
        ({"add_nodes": [{"like": "none"}]}, "/policies/0/changes/add_nodes/0/like"),
        ({"tariff": "none"}, "/policies/0/changes/tariff"),
    ],
)
def test_unknown_names_are_refused(
    changes: dict[str, Any], pointer: str, operator: Api, world: World
) -> None:
    policies = [{"name": "fifo", "changes": changes}]
    answer = operator.post(SIMULATIONS, {**LIVE, "policies": policies})
    assert answer.status_code in {409, 422}
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_only_the_live_queue_is_changed(operator: Api, world: World) -> None:
    trace = {"lines": '{"submitted_s": 0, "duration_s": 1, "gpus": 1}\n'}
    policies = [{"name": "fifo", "changes": {"power_budget_w": 100}}]
    body = {"trace": trace, "cluster": "demo", "policies": policies}
    assert operator.post(SIMULATIONS, body).json()["code"] == "not_live"


@pytest.mark.usefixtures("queue")
def test_another_tariff_costs_otherwise(operator: Api, messages: Messages, world: World) -> None:
    for name, price in (("cheap", "0.1"), ("dear", "0.3")):
        Tariff.objects.create(name=name, kind="flat", price_per_kwh=price)
    Node.objects.update(host_idle_w=100, host_peak_w=200)
    policies = [
        {"name": "fifo", "label": name, "changes": {"tariff": name}} for name in ("cheap", "dear")
    ]
    asked = operator.post(SIMULATIONS, {**LIVE, "policies": policies})
    messages.work(NOW)
    found = operator.get(f"{SIMULATIONS}{asked.json()['id']}/results/").json()["intervals"]
    cheap, dear = (found[name]["energy_cost"]["mean"] for name in ("cheap", "dear"))
    assert dear == pytest.approx(3 * cheap, rel=1e-6)
