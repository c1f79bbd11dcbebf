"""Why jobs wait: the ladder's order, the evidence, and remedies that work when taken."""

from typing import Any

import msgspec
import numpy as np
import pytest

from policies.contract.plan import Wait
from policies.contract.snapshot import Blocked, NodeState, Span
from policies.explain.reasons import (
    REMEDY_ACTIONS,
    Evidence,
    Remedy,
    WaitReason,
    remedy_text,
    sentence,
)
from policies.registry import build
from tests.policies.worlds import Job, Node, World, queued, running


def wait_of(world: World, job: int = -1, *, policy: str = "fifo", **parameters: Any) -> Wait:
    plan = build(policy, parameters).plan(world.snapshot())
    wanted = 1000 + (job % len(world.jobs))
    found = plan.wait_of(wanted)
    assert found is not None, f"job {wanted} does not wait"
    return found


def actions(wait: Wait) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(remedy) for remedy in wait.evidence.remedies]


def full(**world: Any) -> World:
    """One node of 4 GPUs, 3 of them busy, and a job that waits for 2."""
    jobs: list[Job] = [running((0, 0b0111)), queued(2)]
    return World(**{"nodes": [Node(gpus=4)], "jobs": jobs, **world})


def test_ladder_is_structural_first() -> None:
    assert [reason.name for reason in sorted(WaitReason)] == [
        "NO_SUCH_GPU_TYPE",
        "LARGER_THAN_PARTITION",
        "DEPENDENCY",
        "HELD",
        "NODES_UNAVAILABLE",
        "QUOTA",
        "ENERGY_BUDGET",
        "TOPOLOGY",
        "PREEMPTED_WORK",
        "POWER",
        "TARIFF",
        "OUTRANKED",
    ]


def test_a_job_with_every_trouble_is_told_the_lowest_and_then_the_next() -> None:
    """Take the troubles away from the bottom of the ladder upwards; the next one shows."""
    troubles: list[tuple[WaitReason, dict[str, Any], dict[str, Any]]] = [
        (WaitReason.NO_SUCH_GPU_TYPE, {"gpu_types": 0b10}, {}),
        (WaitReason.LARGER_THAN_PARTITION, {"cpus_per_gpu": 1000}, {}),
        (WaitReason.DEPENDENCY, {"blocked": Blocked.DEPENDENCY}, {}),
        (WaitReason.HELD, {"blocked": Blocked.HELD}, {}),
        (WaitReason.QUOTA, {}, {"quotas": [1]}),
        (WaitReason.ENERGY_BUDGET, {}, {"energy_left_j": [0.0]}),
        (WaitReason.OUTRANKED, {}, {}),
    ]
    for at, (expected, *_) in enumerate(troubles):
        columns: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        for _, job_part, world_part in reversed(troubles[at:]):
            columns |= job_part
            settings |= world_part
        world = full(**settings)
        world.jobs[-1].columns = columns
        assert wait_of(world).reason is expected


def test_evidence_counts_every_node_once() -> None:
    world = World(
        nodes=[
            Node(gpus=4),
            Node(gpus=4, cpus=8),
            Node(gpus=4, mem_mib=10),
            Node(gpus=4, gpu_type=1),
            Node(gpus=4, partition=0),
            Node(gpus=4, state=NodeState.OFF),
            Node(gpus=4, state=NodeState.DRAINING),
            Node(gpus=4, state=NodeState.UNAVAILABLE),
        ],
        jobs=[
            running((0, 0b0111)),
            queued(3, gpu_types=0b01, cpus_per_gpu=8, mem_mib_per_gpu=100, span=Span.NODE),
        ],
        partitions=[False],
        gpu_types=("A100", "H100"),
    )
    wait = wait_of(world)
    assert wait.reason is WaitReason.OUTRANKED
    assert wait.evidence.nodes == 8
    assert wait.evidence.filtered == {
        "partition": 1,
        "gpu_type": 1,
        "draining": 1,
        "off": 1,
        "unavailable": 1,
    }
    assert wait.evidence.exhausted == {"gpus": 1, "cpus": 1, "memory": 1}


def test_remedies_of_a_full_cluster() -> None:
    world = World(
        nodes=[Node(gpus=4), Node(gpus=4, gpu_type=1), Node(gpus=4, partition=0)],
        jobs=[running((0, 0b0111)), queued(2, gpu_types=0b01, preemptible=False)],
        partitions=[True],
        gpu_types=("A100", "H100"),
    )
    assert actions(wait_of(world)) == [
        {"action": "reduce_gpus", "to": 1},
        {"action": "allow_gpu_type", "name": "H100"},
        {"action": "move_to_partition", "name": "part-0", "id": 500},
        {"action": "allow_preemption"},
    ]


def test_every_remedy_of_a_full_cluster_starts_the_job() -> None:
    changes: list[dict[str, Any]] = [
        {"gpu_types": 0b11},
        {"partition": 0},
        {"preemptible": True},
    ]
    for change in changes:
        world = World(
            nodes=[Node(gpus=4), Node(gpus=4, gpu_type=1), Node(gpus=4, partition=0)],
            jobs=[
                running((0, 0b0111)),
                queued(2, **{"gpu_types": 0b01, "preemptible": False, **change}),
            ],
            partitions=[True],
            gpu_types=("A100", "H100"),
        )
        plan = build("fifo", {}).plan(world.snapshot())
        assert [start.job for start in plan.starts] == [1001], change


def test_cpus_and_memory_can_be_asked_down() -> None:
    world = World(nodes=[Node(gpus=4, cpus=8)], jobs=[running((0, 0b1), cpus_per_gpu=4), queued(2)])
    world.jobs[-1].columns = {"cpus_per_gpu": 4}
    wait = wait_of(world)
    assert wait.evidence.exhausted == {"cpus": 1}
    assert {"action": "reduce_cpus_per_gpu", "to": 2} in actions(wait)


def test_quota_says_how_much_is_missing() -> None:
    wait = wait_of(full(quotas=[4], jobs=[running((0, 0b0111)), queued(4)], nodes=[Node(), Node()]))
    assert wait.reason is WaitReason.QUOTA
    assert wait.evidence.facts == {"quota": 4, "used": 3, "gpus_asked": 4}
    assert actions(wait) == [
        {"action": "raise_quota", "by": 3},
        {"action": "reduce_gpus", "to": 1},
    ]


@pytest.mark.parametrize(("first", "reduced"), [(running((0, 0b111111)), [2]), (queued(6), [])])
def test_fewer_gpus_are_promised_only_of_a_quota_that_nobody_else_may_take(
    first: Job, reduced: list[int]
) -> None:
    """Two GPUs are left: for jobs of four, unless those come before the first in another order."""
    world = World(nodes=[Node(), Node()], jobs=[first, queued(4), queued(4)], quotas=[8])
    asked = [act["to"] for act in actions(wait_of(world)) if act["action"] == "reduce_gpus"]
    assert asked == reduced


def test_a_raised_quota_is_enough_for_those_who_grow_too() -> None:
    grows = running((0, 0b11))
    grows.max_gpus = 6
    world = World(nodes=[Node(), Node()], jobs=[grows, queued(2)], quotas=[2])
    assert actions(wait_of(world)) == [{"action": "raise_quota", "by": 4 + 2}]


def test_nobody_is_sent_where_a_gang_may_not_draw_its_watts() -> None:
    """Each of the two nodes alone could be lent."""
    nodes = [Node(gpus=4), Node(gpus=2, partition=0), Node(gpus=2, partition=0)]
    world = World(
        nodes=nodes,
        jobs=[running((0, 0b0111)), queued(4, preemptible=False)],
        partitions=[True],
        partition_budgets_w=[np.inf],
    )
    sent = ["reduce_gpus", "move_to_partition", "allow_preemption"]
    assert [act["action"] for act in actions(wait_of(world))] == sent
    world.partition_budgets_w = [4 * 50.0 + 3 * (300.0 - 50.0)]
    assert [act["action"] for act in actions(wait_of(world))] == sent[:1]


def test_quota_of_a_gpu_type_binds_only_where_no_other_type_is_allowed() -> None:
    world = World(
        nodes=[Node(gpus=4), Node(gpus=4, gpu_type=1)],
        jobs=[queued(3, gpu_types=0b01), queued(3, gpu_types=0b11)],
        type_quotas=[[2, -1]],
        gpu_types=("A100", "H100"),
    )
    wait = wait_of(world, 0)
    assert wait.reason is WaitReason.QUOTA
    assert actions(wait) == [
        {"action": "raise_quota_of_type", "by": 1, "name": "A100"},
        {"action": "reduce_gpus", "to": 2},
    ]
    plan = build("fifo", {}).plan(world.snapshot())
    assert [(start.job, start.pieces[0].node) for start in plan.starts] == [(1001, 2)]


def test_scattered_gpus_are_a_matter_of_topology() -> None:
    world = World(
        nodes=[Node(gpus=2, rack=0), Node(gpus=2, rack=0)],
        jobs=[running((0, 0b1)), running((1, 0b1)), queued(2, span=Span.NODE)],
    )
    wait = wait_of(world)
    assert wait.reason is WaitReason.TOPOLOGY
    assert actions(wait)[0] == {"action": "widen_span", "name": "rack"}


def test_dark_nodes_are_waited_for_as_power() -> None:
    world = World(nodes=[Node(gpus=4), Node(gpus=8, state=NodeState.OFF)], jobs=[queued(8)])
    world.jobs[0].columns["span"] = Span.NODE
    wait = wait_of(world)
    assert wait.reason is WaitReason.POWER
    assert actions(wait) == [{"action": "power_on_node", "id": 2}]


def test_lost_nodes_are_named() -> None:
    world = World(nodes=[Node(state=NodeState.UNAVAILABLE)], jobs=[queued(8)])
    wait = wait_of(world)
    assert wait.reason is WaitReason.NODES_UNAVAILABLE
    assert {"action": "make_ready_node", "id": 1} in actions(wait)


def test_power_budget_holds_jobs_back_and_says_by_how_much() -> None:
    # Four idle GPUs draw 200 W; each busy one adds 250 W.
    world = World(nodes=[Node(gpus=4)], jobs=[queued(1), queued(1)], power_budget_w=500.0)
    wait = wait_of(world)
    assert wait.reason is WaitReason.POWER
    assert actions(wait) == [{"action": "raise_power_budget", "by": 200.0}]


def test_waits_for_one_cause_share_one_record() -> None:
    world = World(nodes=[Node(gpus=1)], jobs=[queued(1) for _ in range(50)])
    plan = build("fifo", {}).plan(world.snapshot())
    assert len(plan.waits) == 49
    assert len(plan.evidence) == 1
    assert plan.waits.ahead.tolist() == list(range(1, 50))


@pytest.mark.parametrize("reason", list(WaitReason))
def test_every_reason_has_a_sentence(reason: WaitReason) -> None:
    assert sentence(reason, Evidence()).endswith(".")


def test_sentence_tells_rank_and_remedies() -> None:
    evidence = Evidence(remedies=(Remedy("reduce_gpus", to=4), Remedy("raise_quota", by=2)))
    assert sentence(WaitReason.OUTRANKED, evidence, ahead=3) == (
        "The GPUs it needs are held by, or kept for, other jobs. 3 jobs rank before it. "
        "To start it sooner: ask for 4 GPUs, or raise the tenant's quota by 2 GPUs."
    )


@pytest.mark.parametrize("action", sorted(REMEDY_ACTIONS))
def test_every_remedy_has_words(action: str) -> None:
    text = remedy_text(Remedy(action, to=1, by=2.5, name="H100", id=7))
    assert "{" not in text
    assert text


@pytest.mark.parametrize(
    ("span", "to"), [(Span.ANY, 16), (Span.RACK, 12), (Span.NODE, 8)], ids=["any", "rack", "node"]
)
def test_a_gang_that_is_too_large_is_told_the_largest_that_fits(span: Span, to: int) -> None:
    """A type's 8 + 4 GPUs share a rack and 4 stand elsewhere; the other type has 8 alone."""
    nodes = [
        Node(gpus=8, rack=0),
        Node(gpus=4, rack=0),
        Node(gpus=4, rack=1),
        Node(gpus=8, rack=1, gpu_type=1),
    ]
    wait = wait_of(World(nodes=nodes, gpu_types=("A", "B"), jobs=[queued(64, span=span)]))

    assert wait.reason is WaitReason.LARGER_THAN_PARTITION
    assert {"action": "reduce_gpus", "to": to} in actions(wait)
