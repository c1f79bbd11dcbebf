"""Who is moved to make room on one node, and who never is."""

from typing import Any

import pytest

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import Span
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.examples import each_seed
from tests.policies.random_worlds import any_size
from tests.policies.worlds import NOW_S, Job, Node, World, queued, running


def world_of(jobs: list[Job], nodes: list[Node] | None = None, **more: Any) -> World:
    return World(nodes=nodes or [Node(gpus=4), Node(gpus=4)], jobs=jobs, **more)


def plan_of(world: World, name: str = "sjf", **parameters: Any) -> Plan:
    snapshot = world.snapshot()
    plan = build(name, {"migration": True, "min_run_s": 0, **parameters}).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def moves(plan: Plan) -> list[tuple[int, int]]:
    return [(move.job, move.pieces[0].node) for move in plan.moves]


def whole_node(gpus: int = 4, **columns: Any) -> Job:
    return queued(gpus, span=Span.NODE, **columns)


def two_halves() -> list[Job]:
    """Each node half full: four GPUs are free, but not on one node."""
    return [
        running((0, 0b0011), since_s=500.0, checkpoint_s=NOW_S - 100),
        running((1, 0b0011), since_s=500.0, checkpoint_s=NOW_S - 50),
    ]


def test_the_cheapest_job_is_moved_out_of_the_way() -> None:
    world = world_of([*two_halves(), whole_node()])
    plan = plan_of(world)
    assert moves(plan) == [(1001, world.snapshot().nodes.id[0])]
    assert not plan.starts
    assert next(plan.iter_waits()).reason is WaitReason.PREEMPTED_WORK


def test_nothing_moves_unless_asked() -> None:
    assert not plan_of(world_of([*two_halves(), whole_node()]), migration=False).moves


def test_nothing_moves_when_too_few_are_free() -> None:
    jobs = [*two_halves(), running((0, 0b0100), since_s=500.0)]
    assert not plan_of(world_of([*jobs, whole_node()])).moves


def test_nothing_moves_for_a_job_that_may_lie_apart() -> None:
    plan = plan_of(world_of([*two_halves(), queued(4)]))
    assert not plan.moves
    assert len(plan.starts) == 1


def test_room_is_kept_for_the_job_that_work_moves_for() -> None:
    plan = plan_of(world_of([*two_halves(), whole_node(est_run_s=1.0), queued(1, est_run_s=9.0)]))
    assert len(plan.moves) == 1
    assert not plan.starts


def test_a_partition_gets_room_for_one_job_a_round() -> None:
    nodes = [Node(gpus=4) for _ in range(4)]
    jobs = [running((node, 0b0011), since_s=500.0) for node in range(4)]
    plan = plan_of(world_of([*jobs, whole_node(), whole_node()], nodes))
    assert len(plan.moves) == 1


@pytest.mark.parametrize(
    ("columns", "parameters"), [({"preemptible": False}, {}), ({}, {"min_run_s": 600.0})]
)
def test_safe_jobs_stay(columns: dict[str, Any], parameters: dict[str, Any]) -> None:
    jobs = [running((node, 0b0011), since_s=500.0, **columns) for node in range(2)]
    assert not plan_of(world_of([*jobs, whole_node()]), **parameters).moves


def test_a_gang_over_nodes_stays() -> None:
    jobs = [Job(gpus=4, on=[(0, 0b0011, 0, 0), (1, 0b0011, 0, 0)], state=running((0, 1)).state)]
    assert not plan_of(world_of([*jobs, whole_node()])).moves


def test_cpus_decide_where_a_moved_job_may_go() -> None:
    nodes = [Node(gpus=4, cpus=8), Node(gpus=4, cpus=8), Node(gpus=4, cpus=1)]
    jobs = [
        Job(gpus=2, on=[(0, 0b0011, 4, 0)], state=running((0, 1)).state),
        Job(gpus=3, on=[(1, 0b0111, 0, 0)], state=running((0, 1)).state),
        Job(gpus=2, on=[(2, 0b0011, 0, 0)], state=running((0, 1)).state),
    ]
    plan = plan_of(world_of([*jobs, whole_node()], nodes))
    ids = world_of([], nodes).snapshot().nodes.id
    assert moves(plan) == [(1002, ids[0])]


def test_a_moved_job_is_not_preempted_as_well() -> None:
    jobs = [*two_halves(), whole_node(est_run_s=1.0), whole_node(est_run_s=2.0)]
    for job in jobs[:2]:
        job.columns["est_run_s"] = 10_000.0
    plan = plan_of(world_of(jobs), "srtf")
    assert len(plan.moves) == 1
    assert not {move.job for move in plan.moves} & {preempt.job for preempt in plan.preempts}


def test_random_placement_depends_on_the_seed_alone() -> None:
    world = world_of([queued(1) for _ in range(5)], [Node(gpus=4) for _ in range(30)])
    one, two = (build("fifo", {"placement": "random"}).plan(world.snapshot()) for _ in range(2))
    assert one.digest() == two.digest()
    assert len({start.pieces[0].node for start in one.starts}) > 1


@pytest.mark.parametrize("name", ["fifo", "srtf", "las"])
@pytest.mark.parametrize("placement", ["random", "consolidate"])
@each_seed(50)
def test_plans_with_moves_are_safe_and_repeatable(name: str, placement: str, seed: int) -> None:
    parameters = {"migration": True, "preempt": True, "placement": placement, "min_run_s": 0}
    snapshot = any_size(seed).snapshot()
    policy = build(name, parameters)
    plan = policy.plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert policy.plan(snapshot).canonical() == plan.canonical()
