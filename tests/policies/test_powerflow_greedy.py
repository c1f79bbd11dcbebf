"""The marginal greedy by hand: priorities, the order of increments, budgets, the peak."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.ladder import Ladder
from policies.contract.plan import Plan, PowerNode
from policies.contract.snapshot import JobState, NodeState
from policies.registry import build
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

COUNTS, CLOCKS = (1, 2, 4, 8), (500, 1000)
# Doubling helps by 1.8 and then less; the clock costs twice the watts for 1.6 times the speed.
STEADY = [[1.0, 1.6], [1.8, 2.88], [2.7, 4.32], [3.0, 4.8]]
PERFECT = [[float(n), 1.6 * n] for n in COUNTS]
PEAKED = [[1.0, 1.6], [1.5, 2.4], [1.4, 2.24], [1.45, 2.32]]
WATTS = [[100.0, 200.0]] * 4
DIPPED = [[1.0, 1.6], [1.5, 2.4], [1.4, 2.24], [2.9, 4.64]]
PROFILES = profiles_of([STEADY, PERFECT, PEAKED, DIPPED], [WATTS] * 4, counts=COUNTS, clocks=CLOCKS)
STEADY_JOB, PERFECT_JOB, PEAKED_JOB, DIPPED_JOB = range(4)


def elastic(profile: int = 0, *, most: int = 8, work: float = 1e6, **columns: Any) -> Job:
    job = queued(1, profile=profile, work_left=work, **columns)
    job.max_gpus = most
    return job


def at(profile: int, *on: tuple[int, int], most: int = 8, work: float = 1e6, **more: Any) -> Job:
    job = running(*on, profile=profile, work_left=work, **more)
    gpus, job.gpus = job.gpus, more.get("least", 1)
    job.columns.pop("least", None)
    job.max_gpus = max(most, gpus)
    return job


def world(nodes: list[Node], jobs: list[Job], **given: Any) -> World:
    return World(nodes=nodes, jobs=jobs, profiles=PROFILES, power_off=True, **given)


def planned(given: World, **parameters: Any) -> Plan:
    return build("powerflow", parameters).plan(given.snapshot())


def given_out(plan: Plan) -> dict[int, tuple[int, int]]:
    """GPUs and clock of every job that is placed."""
    return {
        act.job - 1000: (sum(p.gpus.bit_count() for p in act.pieces), act.clock_mhz)
        for act in (*plan.starts, *plan.resizes)
    }


def ladder() -> Ladder:
    return Ladder(list(COUNTS), [list(CLOCKS)] * 4, STEADY, WATTS, [0] * 4)


def test_priority_is_relative_gain_over_relative_energy() -> None:
    # Twice the GPUs: time falls by 1 - 1/1.8 = 4/9, energy rises from 100 to 200/1.8: by 1/9.
    assert ladder().priority(0, 0, 1, 0) == pytest.approx((4.0, 4 / 9))
    # The next clock: time falls by 1 - 1/1.6 = 3/8, energy rises from 100 to 125: by 1/4.
    assert ladder().priority(0, 0, 0, 1) == pytest.approx((1.5, 3 / 8))


def test_a_step_that_costs_no_energy_comes_before_all_others() -> None:
    free = Ladder([1, 2], [[500, 1000]] * 2, [[1.0, 2.0], [2.0, 4.0]], [[100, 200]] * 2, [0, 0])
    assert free.priority(0, 0, 1, 0) == (math.inf, 0.5)
    assert [step[2:] for step in free.steps(0, 0)] == [(0, 1), (1, 0)]


def test_steps_that_gain_nothing_are_dropped() -> None:
    peaked = Ladder(list(COUNTS), [list(CLOCKS)] * 4, PEAKED, WATTS, [0] * 4)
    # From two GPUs four are slower, and so are eight.
    assert [step[2:] for step in peaked.steps(1, 0)] == [(1, 1)]


def test_a_step_that_looks_like_a_loss_is_passed_over() -> None:
    dipped = Ladder(list(COUNTS), [list(CLOCKS)] * 4, DIPPED, WATTS, [0] * 4)
    # From two GPUs four are slower, and eight nearly twice as fast.
    assert [step[2:] for step in dipped.steps(1, 0)] == [(1, 1), (3, 0)]
    assert dipped.wider(0, 0) == [1]
    assert dipped.wider(1, 0) == [3]
    assert dipped.rising(0) == [0, 1, 3]


def test_steps_go_as_far_as_gains_most_per_gpu_or_half_the_way() -> None:
    late = Ladder([1, 2, 4], [[500]] * 3, [[1.0], [1.1], [3.0]], [[100.0]] * 3, [0] * 3)
    # Three more GPUs gain 2/3 each, one more 0.1; four cost 400 J for 3, two 200 J for 1.1.
    assert late.wider(0, 0) == [1, 2]
    assert [step.rung for step in late.steps(0, 0)] == [2, 1]


def test_a_bad_clock_is_passed_over_too() -> None:
    clocks = Ladder([1], [[500, 750, 1000]], [[1.0, 0.9, 1.8]], [[100.0, 120.0, 200.0]], [0])
    assert [step.clock for step in clocks.steps(0, 0)] == [2]


def test_hosts_count_in_energy() -> None:
    """With 100 W of a host per GPU a clock of 1.6 times the speed costs less than it saves."""
    bare, housed = ladder(), replace(ladder(), host_w=100.0)
    # Without: from 100 J to 125 J. With: from 200 J to 300 / 1.6 = 187.5 J.
    assert bare.priority(0, 0, 0, 1)[0] == pytest.approx(1.5)
    assert housed.priority(0, 0, 0, 1)[0] == math.inf
    node = Node(gpus=1, host_idle_w=20.0, host_peak_w=100.0)
    # Idle 70 W; at 1000 MHz the GPU adds 150 W and the host 80 W, at 500 MHz the GPU 50 W.
    for budget_w, clocks_mhz in ((199.0, []), (200.0, [500]), (299.0, [500]), (300.0, [1000])):
        plan = planned(world([node], [elastic()], power_budget_w=budget_w))
        assert [act.clock_mhz for act in plan.starts] == clocks_mhz
    afs = build("afs", {"clock": "efficient"}).plan(world([node], [elastic()]).snapshot())
    assert [act.clock_mhz for act in afs.starts] == [500]


def test_the_most_efficient_clock_is_the_footing() -> None:
    # 100 J a step at 500 MHz, 125 J at 1000 MHz; 150 W above idle is all there is.
    plan = planned(world([Node(gpus=1)], [elastic()], power_budget_w=50 + 150 - 50))
    assert given_out(plan) == {0: (1, 500)}


def test_increments_come_in_the_order_of_their_priority() -> None:
    """Footing 2 x 50 W over idle, then 50 W a doubling, 100 W a clock on one GPU."""
    jobs = [elastic(STEADY_JOB), elastic(PERFECT_JOB)]
    idle_w = 4 * 50

    def after(watts: float) -> dict[int, tuple[int, int]]:
        return given_out(planned(world([Node(gpus=4)], jobs, power_budget_w=idle_w + watts)))

    assert after(99) == {0: (1, 500)}
    assert after(100) == {0: (1, 500), 1: (1, 500)}
    # The perfect job doubles for no energy, before the steady one at priority 4.
    assert after(150) == {0: (1, 500), 1: (2, 500)}
    # It could double again, but not with the three GPUs' worth of room: the steady one doubles.
    assert after(200) == {0: (2, 500), 1: (2, 500)}
    # Both clocks have priority 1.5; of equals the one that gains most, then the first.
    assert after(400) == {0: (2, 1000), 1: (2, 500)}
    assert after(600) == {0: (2, 1000), 1: (2, 1000)}


def test_no_job_is_given_more_than_its_peak() -> None:
    plan = planned(world([Node(gpus=8)], [elastic(PEAKED_JOB)]))
    assert given_out(plan) == {0: (2, 1000)}


def test_a_job_is_not_pinned_by_one_bad_count() -> None:
    plan = planned(world([Node(gpus=8)], [elastic(DIPPED_JOB)]))
    assert given_out(plan) == {0: (8, 1000)}
    # Where eight are not to be had it makes do with two: four are slower.
    busy = at(STEADY_JOB, (0, 0b0001_0000), most=1, preemptible=False)
    plan = planned(world([Node(gpus=8)], [busy, elastic(DIPPED_JOB)]))
    assert given_out(plan) == {1: (2, 1000)}


def test_fewest_and_most_gpus_are_respected() -> None:
    wide = elastic(PEAKED_JOB)
    wide.gpus = wide.max_gpus = 8
    assert given_out(planned(world([Node(gpus=8)], [wide]))) == {0: (8, 1000)}
    assert given_out(planned(world([Node(gpus=8)], [elastic(most=2)]))) == {0: (2, 1000)}


def test_a_job_without_a_profile_runs_as_it_asks_at_the_highest_clock() -> None:
    plan = planned(world([Node(gpus=8)], [queued(3)]))
    assert given_out(plan) == {0: (3, 0)}


def test_the_shortest_start_when_not_all_fit() -> None:
    jobs = [elastic(work=5000.0), elastic(work=10.0), elastic(work=700.0)]
    plan = planned(world([Node(gpus=2)], jobs))
    assert sorted(given_out(plan)) == [1, 2]
    assert plan.waits.job.tolist() == [1000]


def test_a_partition_keeps_its_own_budget() -> None:
    nodes = [Node(gpus=2, partition=0), Node(gpus=2, partition=1)]
    jobs = [elastic(partition=0), elastic(partition=1)]
    given = world(nodes, jobs, partitions=[False, False], partition_budgets_w=[150.0, math.inf])
    assert given_out(planned(given)) == {0: (1, 500), 1: (2, 1000)}


def test_joules_left_are_spread_over_the_time_left() -> None:
    # 150 W for an hour: one GPU at the lower clock, beside another one idle.
    given = world([Node(gpus=2)], [elastic()], cluster_energy_left_j=150.0 * 3600)
    given.energy_until_s = NOW_S + 3600
    assert given_out(planned(given)) == {0: (1, 500)}
    given.cluster_energy_left_j = 0.0
    assert given_out(planned(given)) == {}


def test_joules_over_a_horizon_bound_every_moment() -> None:
    # Two GPUs, one at the lower clock: 150 W, whatever the horizon; with a PUE of 1.5 225 W.
    snapshot = world([Node(gpus=2)], [elastic()]).snapshot()
    for horizon_s in (3600.0, 86400.0):
        for pue, watts, gpus in (
            (1.0, 150.0, 1),
            (1.0, 149.0, 0),
            (1.5, 225.0, 1),
            (1.5, 224.0, 0),
        ):
            rules = {"energy_budget_j": watts * horizon_s, "energy_horizon_s": horizon_s}
            plan = build("powerflow", rules).plan(replace(snapshot, pue=pue))
            assert given_out(plan) == ({0: (1, 500)} if gpus else {})
    # The tighter of two budgets holds.
    tight = build("powerflow", {"energy_budget_j": 1e9}).plan(replace(snapshot, power_budget_w=149))
    assert given_out(tight) == {}


def test_lower_budgets_lower_clocks_in_place() -> None:
    jobs = [at(STEADY_JOB, (0, 0b11), clock_mhz=1000, most=2)]
    plan = planned(world([Node(gpus=2)], jobs, power_budget_w=250))
    assert [(act.job, act.clock_mhz) for act in plan.clocks] == [(1000, 500)]
    assert not plan.resizes
    assert not plan.preempts


def test_a_budget_below_the_footing_stops_the_longest() -> None:
    jobs = [
        at(STEADY_JOB, (0, 0b01), clock_mhz=500, work=1e6),
        at(STEADY_JOB, (0, 0b10), clock_mhz=500, work=1e3),
    ]
    plan = planned(world([Node(gpus=2)], jobs, power_budget_w=160))
    assert [(act.job, act.for_job) for act in plan.preempts] == [(1000, 1000)]


def test_what_must_not_be_stopped_goes_down_to_its_lowest_clock() -> None:
    jobs = [at(STEADY_JOB, (0, 0b11), clock_mhz=1000, preemptible=False)]
    plan = planned(world([Node(gpus=2)], jobs, power_budget_w=100))
    assert [(act.job, act.clock_mhz) for act in plan.clocks] == [(1000, 500)]
    assert plan.preempts == ()


def test_a_job_grows_only_for_more_than_its_restart() -> None:
    # On 2 GPUs at 1000 MHz instead of 1 it gains 1000/1.6 - 1000/2.88 = 278 s.
    for cost_s, grows in ((277.0, True), (278.0, False)):
        job = at(
            STEADY_JOB, (0, 0b1), clock_mhz=1000, work=1000.0, most=2,
            restart_cost_s=cost_s, checkpoint_s=NOW_S,
        )  # fmt: skip
        plan = planned(world([Node(gpus=2)], [job]))
        assert bool(plan.resizes) is grows


def test_a_job_makes_room_for_a_newcomer_unless_it_is_nearly_done() -> None:
    for work, shrinks in ((1e6, True), (10.0, False)):
        wide = at(STEADY_JOB, (0, 0b11), work=work, restart_cost_s=60.0, checkpoint_s=NOW_S)
        plan = planned(world([Node(gpus=2)], [wide, elastic()]))
        assert [act.pieces[0].gpus for act in plan.resizes] == ([0b01] if shrinks else [])
        # What it leaves is free in the next round.
        assert plan.starts == ()


def test_empty_nodes_are_switched_off_and_needed_ones_on() -> None:
    dark = Node(gpus=2, state=NodeState.OFF, host_idle_w=100.0, host_peak_w=100.0)
    jobs = [elastic(STEADY_JOB, most=2)]
    plan = planned(world([Node(gpus=2), Node(gpus=2), dark], jobs))
    assert plan.power == (PowerNode(2, on=False),)
    jobs = [elastic(STEADY_JOB, most=2) for _ in range(3)]
    plan = planned(world([Node(gpus=2), Node(gpus=2), dark], jobs))
    assert plan.power == (PowerNode(3, on=True),)
    kept = planned(world([Node(gpus=2), Node(gpus=2), dark], jobs[:1]), power_off=False)
    assert kept.power == ()


def test_waking_a_node_must_fit_the_budget() -> None:
    dark = Node(gpus=1, state=NodeState.OFF, host_idle_w=100.0, host_peak_w=100.0)
    jobs = [elastic(most=1), elastic(most=1)]
    # One GPU at the lower clock draws 100 W; the other node needs 150 W before its job's 50.
    plan = planned(world([Node(gpus=1), dark], jobs, power_budget_w=299.0))
    assert plan.power == ()
    plan = planned(world([Node(gpus=1), dark], jobs, power_budget_w=300.0))
    assert plan.power == (PowerNode(2, on=True),)


def test_stopping_work_is_room_on_its_way() -> None:
    """Nobody else is stopped for a job whose place is being vacated."""
    jobs = [
        at(STEADY_JOB, (0, 0b01), state=JobState.STOPPING),
        at(STEADY_JOB, (0, 0b10), work=1e9),
        elastic(work=10.0),
    ]
    plan = planned(world([Node(gpus=2)], jobs))
    assert plan.preempts == ()


def test_a_shorter_job_takes_the_place_of_a_longer_one() -> None:
    jobs = [at(STEADY_JOB, (0, 0b1), work=1e6), elastic(work=10.0)]
    plan = planned(world([Node(gpus=1)], jobs))
    assert [(act.job, act.for_job) for act in plan.preempts] == [(1000, 1001)]
    assert planned(world([Node(gpus=1)], jobs), preempt=False).preempts == ()


def test_mean_time_left_is_the_objective() -> None:
    plan = planned(world([Node(gpus=1)], [elastic(work=160.0, most=1)]))
    assert plan.objective == pytest.approx(100.0)
    assert plan.shown["gpus"] == 1
    assert np.isfinite(plan.objective)
