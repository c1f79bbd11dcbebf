"""Who is stopped for whom, and who never is."""

from typing import Any

import pytest

from policies.contract.plan import Plan
from policies.contract.snapshot import JobState, Span
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.policies.worlds import NOW_S, Job, Node, World, queued, running


def plan_of(jobs: list[Job], *, nodes: list[Node] | None = None, **parameters: Any) -> Plan:
    settings = {"preempt": True, "ageing_s": 0, "min_run_s": 0, **parameters}
    world = World(nodes=nodes or [Node(gpus=4)], jobs=jobs)
    return build("priority", settings).plan(world.snapshot())


def stopped(plan: Plan) -> list[int]:
    return [preempt.job for preempt in plan.preempts]


def four(**columns: Any) -> list[Job]:
    """Four one-GPU jobs, the third with the freshest checkpoint."""
    return [
        running((0, 1 << gpu), since_s=1000.0, checkpoint_s=NOW_S - lost_s, **columns)
        for gpu, lost_s in enumerate([400, 300, 100, 200])
    ]


def test_the_least_work_is_lost() -> None:
    plan = plan_of([*four(), queued(2, priority=1)])
    assert sorted(stopped(plan)) == [1002, 1003]
    assert sum(preempt.lost_gpu_s for preempt in plan.preempts) == 300.0
    assert plan.shown["lost_gpu_s"] == 300.0


def test_restart_costs_count() -> None:
    jobs = four()
    jobs[2].columns["restart_cost_s"] = 500.0
    assert stopped(plan_of([*jobs, queued(1, priority=1)])) == [1003]


def test_one_large_job_is_dearer_than_its_seconds() -> None:
    jobs = [
        running((0, 0b0011), since_s=100.0),
        running((0, 0b0100), since_s=150.0),
        running((0, 0b1000), since_s=9000.0),
    ]
    assert stopped(plan_of([*jobs, queued(1, priority=1)])) == [1001]


@pytest.mark.parametrize("columns", [{"preemptible": False}, {"priority": 1}, {"priority": 2}])
def test_equals_betters_and_the_unstoppable_stay(columns: dict[str, Any]) -> None:
    plan = plan_of([*four(**columns), queued(1, priority=1)])
    assert stopped(plan) == []
    wait = plan.wait_of(1004)
    assert wait is not None
    assert wait.reason is WaitReason.OUTRANKED


def test_nobody_is_stopped_without_preemption() -> None:
    assert stopped(plan_of([*four(), queued(1, priority=1)], preempt=False)) == []


def test_nobody_is_stopped_in_vain() -> None:
    jobs = four()
    jobs[0].columns["preemptible"] = False
    assert stopped(plan_of([*jobs, queued(4, priority=1)])) == []


@pytest.mark.parametrize(("min_run_s", "victims"), [(1000.0, [1002]), (1000.5, [])])
def test_the_guaranteed_run_time_is_kept(min_run_s: float, victims: list[int]) -> None:
    assert stopped(plan_of([*four(), queued(1, priority=1)], min_run_s=min_run_s)) == victims
    own = plan_of([*four(min_run_s=min_run_s), queued(1, priority=1)])
    assert stopped(own) == victims


def test_free_gpus_of_the_node_are_counted() -> None:
    jobs = [*four()[:3], queued(2, priority=1)]
    assert stopped(plan_of(jobs)) == [1002]


def test_the_cheapest_node_is_chosen() -> None:
    jobs = [
        running((0, 0b11), since_s=500.0),
        running((1, 0b11), since_s=100.0),
        running((2, 0b11), since_s=300.0),
        queued(2, priority=1, span=Span.NODE),
    ]
    assert stopped(plan_of(jobs, nodes=[Node(gpus=2)] * 3)) == [1001]


def test_one_cheap_job_does_not_make_its_node_the_cheapest() -> None:
    jobs = [
        running((0, 0b01), since_s=1.0),
        running((0, 0b10), since_s=900.0),
        running((1, 0b01), since_s=50.0),
        running((1, 0b10), since_s=50.0),
        queued(2, priority=1, span=Span.NODE),
    ]
    assert sorted(stopped(plan_of(jobs, nodes=[Node(gpus=2)] * 2))) == [1002, 1003]


def test_what_was_found_for_a_better_claimant_does_not_serve_a_lesser_one() -> None:
    jobs = [
        running((0, 0b01), since_s=1.0, priority=1),
        running((0, 0b10), since_s=900.0, priority=1),
        running((1, 0b01), since_s=50.0),
        running((1, 0b10), since_s=50.0),
        queued(2, priority=2, span=Span.NODE),
        queued(2, priority=1, span=Span.NODE),
    ]
    # Node 0 promises to be cheapest and is looked at for the first; the second may not use it.
    plan = plan_of(jobs, nodes=[Node(gpus=2)] * 2)
    assert sorted(stopped(plan)) == [1002, 1003]


def test_a_gang_stops_nobody_for_room_wider_than_its_span() -> None:
    jobs = [running((0, 0b11)), running((1, 0b11)), queued(4, priority=1)]
    nodes = [Node(gpus=2, rack=0), Node(gpus=2, rack=1), Node(gpus=2, rack=0)]
    jobs.append(running((2, 0b11), preemptible=False))
    jobs[2].columns["span"] = Span.RACK
    assert stopped(plan_of(jobs, nodes=nodes)) == []
    jobs[2].columns["span"] = Span.ANY
    assert sorted(stopped(plan_of(jobs, nodes=nodes))) == [1000, 1001]


def test_the_cheapest_gpus_are_passed_over_where_cpus_do_not_suffice() -> None:
    jobs = [
        running((0, 0b1), since_s=1.0),
        running((1, 0b1), since_s=50.0),
        queued(1, priority=1, cpus_per_gpu=8),
    ]
    nodes = [Node(gpus=1, cpus=4), Node(gpus=1, cpus=8)]
    assert stopped(plan_of(jobs, nodes=nodes)) == [1001]


def test_each_claimant_gets_victims_of_its_own() -> None:
    plan = plan_of([*four(), *(queued(1, priority=1) for _ in range(3))])
    assert sorted(stopped(plan)) == [1001, 1002, 1003]
    assert len({preempt.for_job for preempt in plan.preempts}) == 3


def test_what_a_victim_frees_beyond_the_claim_serves_the_next_claimant() -> None:
    jobs = [running((0, 0b1111), since_s=10.0), queued(2, priority=2), queued(2, priority=1)]
    plan = plan_of(jobs)
    assert stopped(plan) == [1000]
    assert [wait.reason for wait in plan.iter_waits()] == [WaitReason.PREEMPTED_WORK] * 2


def test_one_round_stops_no_more_than_it_may() -> None:
    plan = plan_of([*four(), *(queued(1, priority=1) for _ in range(4))], max_preemptions=2)
    assert len(stopped(plan)) == 2


def test_a_gang_over_nodes_stops_work_on_several() -> None:
    jobs = [
        running((0, 0b1100), since_s=100.0),
        running((1, 0b1111), since_s=100.0),
        queued(8, priority=1),
    ]
    plan = plan_of(jobs, nodes=[Node(gpus=4), Node(gpus=4)])
    assert sorted(stopped(plan)) == [1000, 1001]


def test_a_gang_prefers_one_rack() -> None:
    jobs = [
        running((0, 0b11), since_s=10.0),
        running((1, 0b11), since_s=500.0),
        running((2, 0b11), since_s=400.0),
        running((3, 0b11), since_s=300.0),
        queued(4, priority=1),
    ]
    nodes = [Node(gpus=2, rack=rack) for rack in (0, 0, 1, 1)]
    assert sorted(stopped(plan_of(jobs, nodes=nodes))) == [1000, 1001]


def test_cpus_can_be_what_is_missing() -> None:
    jobs = [
        running((0, 0b0001), since_s=10.0, cpus_per_gpu=1),
        running((0, 0b0010), since_s=900.0, cpus_per_gpu=7),
        queued(2, priority=1, cpus_per_gpu=3),
    ]
    assert stopped(plan_of(jobs, nodes=[Node(gpus=4, cpus=8)])) == [1001]


def test_buddy_clears_an_aligned_block() -> None:
    jobs = [
        running((0, 0b0001), since_s=500.0),
        running((0, 0b0010), since_s=500.0),
        running((0, 0b0100), since_s=10.0),
        running((0, 0b1000), since_s=600.0),
        queued(2, priority=1),
    ]
    # The two cheapest lie in different blocks; the upper block is the cheaper one.
    assert sorted(stopped(plan_of(jobs, placement="buddy"))) == [1002, 1003]


def test_power_must_suffice_once_the_victim_is_gone() -> None:
    def plan(budget_w: float) -> Plan:
        world = World(
            nodes=[Node(gpus=2)],
            jobs=[running((0, 0b01)), running((0, 0b10)), queued(2, priority=1)],
            power_budget_w=budget_w,
        )
        return build("priority", {"preempt": True, "min_run_s": 0}).plan(world.snapshot())

    # Two busy GPUs draw 600 W, two idle ones 100 W.
    assert sorted(stopped(plan(600.0))) == [1000, 1001]
    assert stopped(plan(599.0)) == []


def test_las_stops_only_jobs_of_later_queues() -> None:
    jobs = [
        running((0, 0b0001), attained_gpu_s=50.0, submitted_s=NOW_S),
        running((0, 0b0010), attained_gpu_s=500.0, submitted_s=0.0),
        queued(1, attained_gpu_s=10.0),
        queued(1, attained_gpu_s=10.0),
    ]
    world = World(nodes=[Node(gpus=2)], jobs=jobs)
    plan = build("las", {"queue_gpu_s": [100.0], "min_run_s": 0}).plan(world.snapshot())
    assert stopped(plan) == [1001]


def test_finish_time_fairness_counts_what_the_victim_would_lose() -> None:
    """Stopping the runner would make it the worse sufferer, so it is left alone."""
    jobs = [
        running(
            (0, 0b1), since_s=400.0, submitted_s=NOW_S - 400, est_run_s=600.0, est_total_s=1000.0
        ),
        queued(1, submitted_s=NOW_S - 200, est_run_s=1000.0, est_total_s=1000.0),
    ]
    world = World(nodes=[Node(gpus=1)], jobs=jobs)
    # Ratios 1.0 and 1.2; the runner's would be 1.4 once its 400 s are lost.
    plan = build("ftf", {"preempt": True, "min_run_s": 0}).plan(world.snapshot())
    assert stopped(plan) == []
    jobs[0].columns["checkpoint_s"] = NOW_S - 50
    plan = build("ftf", {"preempt": True, "min_run_s": 0}).plan(world.snapshot())
    assert stopped(plan) == [1000]


def test_work_already_stopping_is_no_victim_but_counts_as_coming() -> None:
    jobs = [running((0, 0b1111), state=JobState.STOPPING), queued(4, priority=1)]
    plan = plan_of(jobs, preempt=False)
    assert stopped(plan) == []
    wait = plan.wait_of(1001)
    assert wait is not None
    assert wait.reason is WaitReason.PREEMPTED_WORK
