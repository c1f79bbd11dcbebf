"""Nodes by hand: off when nothing needs them, on when something does, within the watts."""

from dataclasses import replace
from typing import Any

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import NodeState
from policies.registry import build
from tests.policies.worlds import NOW_S, Node, World, queued, running


def plan_of(world: World, **parameters: Any) -> Plan:
    snapshot = replace(world.snapshot(), power_off=True)
    plan = build("fairwatt", parameters).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def switches(plan: Plan) -> dict[int, bool]:
    return {entry.node: entry.on for entry in plan.power}


def nodes(*states: NodeState) -> list[Node]:
    return [Node(gpus=8, state=state, host_idle_w=400.0, host_peak_w=400.0) for state in states]


READY, OFF, BOOTING = NodeState.READY, NodeState.OFF, NodeState.BOOTING


def ids(world: World) -> list[int]:
    found: list[int] = world.snapshot().nodes.id.tolist()
    return found


def test_empty_nodes_go_off_and_busy_ones_stay() -> None:
    world = World(nodes=nodes(READY, READY), jobs=[running((0, 1), est_run_s=3600.0)])
    assert switches(plan_of(world)) == {ids(world)[1]: False}
    assert switches(plan_of(world, power_off=False)) == {}
    assert switches(plan_of(world, empty_nodes_off=True)) == {}


def test_as_many_nodes_wake_as_a_job_lacks() -> None:
    gang = queued(16, est_run_s=3600.0, submitted_s=NOW_S)
    world = World(nodes=nodes(READY, OFF, OFF, OFF), jobs=[gang])
    plan = plan_of(world)
    assert plan.starts == ()
    assert switches(plan) == {ids(world)[1]: True}
    on_its_way = World(nodes=nodes(READY, BOOTING, OFF), jobs=[gang])
    assert switches(plan_of(on_its_way)) == {}


def test_a_node_wakes_only_within_the_watts() -> None:
    """The first node idles at 800 W and the second needs as many, besides what the job draws."""
    gang = queued(16, est_run_s=3600.0, submitted_s=NOW_S)
    world = World(nodes=nodes(READY, OFF), jobs=[gang], power_budget_w=1500.0)
    assert switches(plan_of(world)) in ({}, {ids(world)[0]: False})


def test_a_job_beyond_its_quota_wakes_nobody() -> None:
    job = queued(4, est_run_s=3600.0, submitted_s=NOW_S)
    world = World(nodes=nodes(OFF), jobs=[job], quotas=[2])
    assert switches(plan_of(world)) == {}
