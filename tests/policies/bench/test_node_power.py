"""Nodes go off only where and when the operator lets them, and on for whatever waits for room."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan, PowerNode
from policies.contract.snapshot import Blocked, NodeState, PriceTable, Snapshot
from policies.registry import build, policy_names
from tests.policies.worlds import NOW_S, Job, Node, World, queued, running

READY, OFF, BOOTING = NodeState.READY, NodeState.OFF, NodeState.BOOTING


def node(state: NodeState = OFF, **fields: Any) -> Node:
    return Node(**{"gpus": 8, "host_idle_w": 400.0, "host_peak_w": 400.0, **fields}, state=state)


def checked(policy: str, snapshot: Snapshot, **parameters: Any) -> Plan:
    plan = build(policy, parameters).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def woken(nodes: list[Node], jobs: list[Job], **world: Any) -> list[int]:
    """Rows of the nodes that fifo switches on."""
    plan = checked("fifo", World(nodes, jobs, **world).snapshot())
    assert all(entry.on for entry in plan.power)
    return [entry.node - 1 for entry in plan.power]


@pytest.mark.parametrize("policy", policy_names())
def test_queued_work_wakes_what_it_needs_whatever_the_policy(policy: str) -> None:
    job = queued(8, est_run_s=600.0, submitted_s=NOW_S)
    full = running((0, 0xFF), est_run_s=1e6, preemptible=False)
    snapshot = World([node(READY), node(), node()], [full, job]).snapshot()
    assert checked(policy, snapshot).power == (PowerNode(2, on=True),)
    dark = World([node(), node()], [job]).snapshot()
    assert checked(policy, dark).power == (PowerNode(1, on=True),)


def test_as_many_wake_as_are_needed() -> None:
    assert woken([node()] * 4, [queued(1)] * 9) == [0, 1]
    assert woken([node(READY), *[node()] * 4], [queued(24, submitted_s=0.0)]) == [1, 2]
    assert woken([node(BOOTING), *[node()] * 4], [queued(8)] * 2) == [1]


def test_only_where_the_job_would_fit() -> None:
    small, large = node(gpus=4), node(gpus=8)
    assert woken([small, large], [queued(8)]) == [1]
    assert woken([node(cpus=8), node(cpus=64)], [queued(8, cpus_per_gpu=4)]) == [1]
    assert woken([node(partition=0), node(partition=1)], [queued(1, partition=1)],
                 partitions=[False, False]) == [1]  # fmt: skip
    other = World([node(), node(gpu_type=1)], [queued(1, gpu_types=2)], gpu_types=("A", "B"))
    assert [entry.node for entry in checked("fifo", other.snapshot()).power] == [2]
    assert woken([node()] * 2, [queued(16, span=0)]) == []
    assert woken([node(rack=0), node(rack=1), node(rack=1)], [queued(16, span=1)]) == [1, 2]


def test_a_borrower_wakes_a_node_that_is_lent() -> None:
    job = queued(1, partition=1)
    assert woken([node(partition=0)], [job], partitions=[True, False]) == [0]
    assert woken([node(partition=0)], [job], partitions=[False, False]) == []


def test_nobody_wakes_a_node_without_leave_to_start() -> None:
    for columns in ({"blocked": Blocked.HELD}, {"blocked": Blocked.DEPENDENCY}):
        assert woken([node()], [queued(1, **columns)]) == []
    assert woken([node()], [queued(4)], quotas=[3]) == []
    assert woken([node()], [queued(4)], type_quotas=[[3]]) == []
    assert woken([node()], [queued(1)], energy_left_j=[0.0]) == []


def test_budgets_forbid_waking() -> None:
    """A node idles at 400 W + 8 x 50 W; its job adds 250 W."""
    for budget_w, rows in ((1049.0, []), (1050.0, [0])):
        assert woken([node()], [queued(1)], power_budget_w=budget_w) == rows
        hour = {"cluster_energy_left_j": budget_w * 3600, "energy_until_s": NOW_S + 3600}
        assert woken([node()], [queued(1)], **hour) == rows
        ours = {"partitions": [False], "partition_budgets_w": [budget_w]}
        assert woken([node(partition=0)], [queued(1, partition=0)], **ours) == rows
    assert woken([node()] * 3, [queued(8)] * 3, power_budget_w=2 * 2800.0) == [0, 1]


def test_who_waits_for_a_cheaper_hour_wakes_nobody() -> None:
    job = queued(1, est_run_s=3600.0, submitted_s=NOW_S)
    dear = PriceTable.of(
        from_s=NOW_S + 3600.0 * np.arange(4), price_per_kwh=[10.0, 0.01, 0.01, 0.01]
    )
    snapshot = replace(World([node()], [job]).snapshot(), prices=dear)
    assert checked("fairwatt", snapshot, wait_price_per_h=0.001).power == ()
    assert checked("fairwatt", snapshot, wait_price_per_h=1000.0).power == (PowerNode(1, on=True),)


SAVERS = ("fairwatt", "powerflow")


def saved(policy: str, nodes: list[Node], jobs: list[Job], **snapshot: Any) -> list[int]:
    """Rows of the nodes that go off, by default with the operator's leave."""
    seen = replace(World(nodes, jobs).snapshot(), **{"power_off": True, **snapshot})
    return [entry.node - 1 for entry in checked(policy, seen, power_off=True).power]


@pytest.mark.parametrize("policy", SAVERS)
def test_nodes_go_off_only_with_leave_and_after_a_while(policy: str) -> None:
    busy = running((0, 1), est_run_s=3600.0)
    nodes = [node(READY), node(READY, idle_since_s=NOW_S - 599.0)]
    assert saved(policy, nodes, [busy], min_idle_s=599.0) == [1]
    assert saved(policy, nodes, [busy]) == []
    assert saved(policy, nodes, [busy], min_idle_s=599.0, power_off=False) == []


@pytest.mark.parametrize("policy", SAVERS)
def test_the_last_ready_node_that_queued_work_may_need_stays(policy: str) -> None:
    held = queued(1, blocked=Blocked.HELD)
    assert saved(policy, [node(READY)] * 3, []) == [0, 1, 2]
    assert len(saved(policy, [node(READY)] * 3, [held])) == 2
    assert len(saved(policy, [node(READY), node()], [held])) == 0


def test_a_plan_may_not_switch_the_last_one_off() -> None:
    snapshot = World([node(READY)], [queued(1, blocked=Blocked.HELD)], power_off=True).snapshot()
    plan = build("fifo", {}).plan(snapshot)
    off = replace(plan, power=(PowerNode(1, on=False),))
    assert [broken.code for broken in check_plan(snapshot, off)] == ["last_ready"]


def test_what_was_undone_counts_as_ready_again() -> None:
    held = queued(1, blocked=Blocked.HELD)
    snapshot = World([node(READY)] * 2, [held], power_off=True).snapshot()
    draft = PlanDraft(Ledger(snapshot, pack))
    mark = draft.mark()
    assert draft.sleep(0)
    assert not draft.sleep(1)
    draft.back(mark)
    assert draft.sleep(1)


def test_a_snapshot_carries_the_operators_choice() -> None:
    snapshot = World([node(READY)], [], power_off=True).snapshot()
    for given in (replace(snapshot, min_idle_s=42.0), replace(snapshot, power_off=False)):
        kept = Snapshot.from_bytes(given.to_bytes())
        assert (kept.power_off, kept.min_idle_s) == (given.power_off, given.min_idle_s)
        assert kept.digest() == given.digest()
