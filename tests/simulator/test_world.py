"""What happens to jobs in a world, entry by entry of a plan."""

import dataclasses

import numpy as np
import pytest

from policies.contract.plan import (
    Move,
    Piece,
    Plan,
    PowerNode,
    Preempt,
    Resize,
    Retune,
    SetClock,
    Start,
)
from policies.contract.snapshot import JobState, NodeState, ProfileTable, Snapshot
from simulator.energy import energy
from simulator.holdings import BrokenPlanError
from simulator.log import StretchEnd
from simulator.measure import measure
from tests.simulator.scripted import (
    Scripted,
    jobs_of,
    machines_of,
    outcome_of,
    setting_of,
    start,
)


def test_a_job_runs_for_its_work() -> None:
    outcome = outcome_of(setting_of(jobs_of((10, 100, 1))), Scripted(Plan(starts=(start(0),))))
    assert outcome.finished_s.tolist() == [110]
    assert outcome.ended_s == 110


def test_starting_costs_time_once_and_restarting_each_time() -> None:
    policy = Scripted(
        Plan(starts=(start(0),)),
        Plan(preempts=(Preempt(0, 1, 0.0),)),
        Plan(starts=(start(0),)),
    )
    setting = setting_of(jobs_of((0, 100, 1), (50, 10, 1)), start_s=5, restart_s=7, checkpoint_s=11)
    outcome = outcome_of(setting, policy, until_s=10_000)
    # 45 s of work by 50 s, 11 s for the checkpoint, 7 s to restart, 55 s of work left.
    assert outcome.finished_s[0] == 50 + 11 + 7 + 55
    jobs = measure(outcome).jobs
    assert jobs.lost_gpu_s[0] == 5 + 11 + 7
    assert jobs.preemptions[0] == 1


def test_an_end_is_known_later_than_it_comes() -> None:
    policy = Scripted(Plan(starts=(start(0),)), Plan(), Plan())
    setting = setting_of(jobs_of((0, 100, 1), (103, 10, 1)), start_s=5, end_s=3)
    outcome = outcome_of(setting, policy, until_s=200)
    assert outcome.finished_s[0] == 5 + 100 + 3
    working, known = policy.seen[1], policy.seen[2]
    assert (working.now_s, known.now_s) == (103, 108)
    assert (working.nodes.free_gpus[0], known.nodes.free_gpus[0]) == (0b1110, 0b1111)
    jobs = measure(outcome).jobs
    assert (jobs.held_gpu_s[0], jobs.lost_gpu_s[0]) == (108, 8)


def test_a_job_stopped_before_its_end_is_known_has_nothing_left_to_do() -> None:
    policy = Scripted(
        Plan(starts=(start(0),)),
        Plan(preempts=(Preempt(0, 1, 0.0),)),
        Plan(starts=(start(0),)),
    )
    setting = setting_of(jobs_of((0, 100, 1), (102, 10, 1)), end_s=3, restart_s=7)
    outcome = outcome_of(setting, policy, until_s=10_000)
    assert outcome.finished_s[0] == 102 + 7 + 3
    # Two seconds before it was stopped, the restart, and three seconds before it was known.
    assert measure(outcome).jobs.lost_gpu_s[0] == 2 + 7 + 3


def test_gpus_stay_held_while_a_preempted_job_saves() -> None:
    policy = Scripted(
        Plan(starts=(start(0),)), Plan(preempts=(Preempt(0, 1, 0.0),)), Plan(), Plan()
    )
    setting = setting_of(jobs_of((0, 100, 1), (50, 10, 1), (55, 10, 1)), checkpoint_s=10)
    outcome_of(setting, policy, until_s=100)
    saving, saved = policy.seen[2], policy.seen[3]
    assert saving.now_s == 55
    assert saving.jobs.state[0] == JobState.STOPPING
    assert saving.nodes.free_gpus[0] == 0b1110
    assert saved.now_s == 60
    assert saved.jobs.state[0] == JobState.QUEUED
    assert saved.nodes.free_gpus[0] == 0b1111


@pytest.mark.parametrize(("every_s", "kept"), [(30.0, 60.0), (float("inf"), 0.0)])
def test_without_saving_work_since_the_last_checkpoint_is_lost(every_s: float, kept: float) -> None:
    begin = Plan(starts=(start(0, 0, 0b11),))
    policy = Scripted(begin, Plan(preempts=(Preempt(0, 1, 0.0),)), begin)
    setting = setting_of(
        jobs_of((0, 100, 2), (80, 10, 1)), saves_on_stop=False, checkpoint_every_s=every_s
    )
    outcome = outcome_of(setting, policy, until_s=1000)
    assert outcome.finished_s[0] == 80 + 100 - kept
    assert measure(outcome).jobs.lost_gpu_s[0] == 2 * (80 - kept)
    assert policy.seen[1].jobs.checkpoint_s[0] == (60 if every_s == 30 else 0)


def test_a_moved_job_frees_its_gpus_and_pays() -> None:
    move = Move(0, (Piece(1, 0b11, 0, 0),))
    policy = Scripted(Plan(starts=(start(0, 0, 0b11),)), Plan(moves=(move,)), Plan())
    setting = setting_of(jobs_of((0, 100, 2), (40, 1, 1)), checkpoint_s=10, restart_s=20)
    outcome = outcome_of(setting, policy, until_s=1000)
    assert outcome.finished_s[0] == 40 + 30 + 60
    after = policy.seen[2]
    assert after.nodes.free_gpus.tolist() == [0b1111, 0b1100]
    assert after.jobs.started_s[0] == 40
    assert measure(outcome).jobs.migrations[0] == 1


def test_a_resized_job_may_keep_its_gpus_and_runs_faster() -> None:
    resize = Resize(0, (Piece(0, 0b1111, 0, 0),))
    policy = Scripted(Plan(starts=(start(0, 0, 0b11),)), Plan(resizes=(resize,)))
    jobs = jobs_of((0, 100, 2), (40, 1, 1), max_gpus=[4, 1])
    outcome = outcome_of(setting_of(jobs), policy, until_s=1000)
    assert outcome.finished_s[0] == 40 + 60 / 2


def test_a_spread_gang_is_slower() -> None:
    pieces = (Piece(0, 0b1, 0, 0), Piece(1, 0b1, 0, 0))
    policy = Scripted(Plan(starts=(Start(0, pieces),)))
    setting = setting_of(jobs_of((0, 80, 2)), slowdown_across=0.2)
    assert outcome_of(setting, policy).finished_s[0] == pytest.approx(100)


@pytest.mark.parametrize(
    ("topology", "slowdown"),
    [({"per_rack": 2, "per_switch": 2}, 0.1), ({"per_switch": 2}, 0.2), ({}, 0.5)],
)
def test_the_narrowest_part_of_the_topology_decides(
    topology: dict[str, int], slowdown: float
) -> None:
    pieces = (Piece(0, 0b1, 0, 0), Piece(1, 0b1, 0, 0))
    policy = Scripted(Plan(starts=(Start(0, pieces),)))
    setting = setting_of(
        jobs_of((0, 90, 2)),
        machines_of(**topology),
        slowdown_in_rack=0.1,
        slowdown_in_switch=0.2,
        slowdown_across=0.5,
    )
    assert outcome_of(setting, policy).finished_s[0] == pytest.approx(90 / (1 - slowdown))


def test_a_failing_node_sends_its_jobs_back() -> None:
    policy = Scripted(Plan(starts=(start(0),)), Plan(), Plan(starts=(start(0, 1),)))
    setting = dataclasses.replace(setting_of(jobs_of((0, 100, 1))), outages=[(30.0, 0, 500.0)])
    outcome = outcome_of(setting, policy, interval_s=20.0, on_events=False, until_s=1000)
    down = policy.seen[2]
    assert down.now_s == 40
    assert down.nodes.state[0] == NodeState.UNAVAILABLE
    assert outcome.finished_s[0] == 40 + 100
    assert measure(outcome).jobs.failures[0] == 1


def profiles() -> ProfileTable:
    """One profile on one GPU type, for one and two GPUs at 1000 and 1500 MHz."""
    return ProfileTable.of(
        id=[0],
        gpu_counts=[1, 2],
        clocks_mhz=[[1000, 1500]],
        throughput=[[[[2.0, 3.0], [4.0, 5.0]]]],
        watts_per_gpu=[[[[120.0, 200.0], [110.0, 190.0]]]],
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((1, 0, 0)),
    )


def test_a_clock_changes_speed_and_watts() -> None:
    slower = Plan(clocks=(SetClock(0, 1000),))
    policy = Scripted(Plan(starts=(start(0),)), slower)
    setting = setting_of(jobs_of((0, 300, 1), (50, 1, 1), profile=[0, -1]), machines_of(1))
    setting = dataclasses.replace(setting, profiles=profiles(), believed_profiles=profiles())
    outcome = outcome_of(setting, policy, until_s=1000)
    # 150 units at 3 a second by 50 s, the other 150 at 2 a second.
    assert outcome.finished_s[0] == 50 + 75
    stretches = outcome.log.table()
    assert stretches.end.tolist() == [StretchEnd.CLOCKED, StretchEnd.FINISHED]
    # GPU watts above idle, and a quarter of the host's span.
    assert stretches.watts.tolist() == [200 - 20 + 20, 120 - 20 + 20]


@pytest.mark.parametrize("hands_over", [False, True])
def test_other_cpus_change_the_speed_and_nothing_else(hands_over: bool) -> None:
    table = dataclasses.replace(
        profiles(),
        cpus_per_gpu=np.array([1.0, 3.0]),
        mem_mib_per_gpu=np.array([0.0]),
        relative_speed=np.array([[[0.5], [1.0]]]),
    )
    begin = Start(0, (Piece(0, 0b1, 3, 100),))
    policy = Scripted(Plan(starts=(begin,)), Plan(retunes=(Retune(0, (Piece(0, 0b1, 1, 50),)),)))
    machines = machines_of(1, cpus=4, mem_mib=400)
    setting = setting_of(
        jobs_of((0, 300, 1), (50, 1, 1), profile=[0, -1]), machines, hands_over=hands_over
    )
    setting = dataclasses.replace(setting, profiles=table, believed_profiles=table)
    outcome = outcome_of(setting, policy, until_s=1000, interval_s=100)
    # 150 units at 3 a second by 50 s, the other 150 at half that speed.
    assert outcome.finished_s[0] == 50 + 100
    assert outcome.log.table().end.tolist() == [StretchEnd.RETUNED, StretchEnd.FINISHED]
    assert outcome.log.table().lost_work.tolist() == [0, 0]
    seen = policy.seen[2]
    assert (seen.nodes.free_cpus[0], seen.nodes.free_mem_mib[0]) == (3, 350)
    assert seen.jobs.started_s[0] == 0


def test_two_jobs_change_places_in_one_round() -> None:
    swap = Plan(moves=(Move(0, (Piece(1, 0b1, 0, 0),)), Move(1, (Piece(0, 0b1, 0, 0),))))
    policy = Scripted(Plan(starts=(start(0), start(1, node=1))), swap)
    setting = setting_of(jobs_of((0, 100, 1), (0, 100, 1), (50, 1, 1)))
    outcome = outcome_of(setting, policy, until_s=1000)
    assert outcome.finished_s[:2].tolist() == [100, 100]
    assert [pieces[0][0] for pieces in outcome.log.pieces] == [0, 1, 1, 0]


def test_a_node_switched_off_draws_nothing_until_it_boots() -> None:
    off, on = Plan(power=(PowerNode(1, on=False),)), Plan(power=(PowerNode(1, on=True),))
    policy = Scripted(Plan(starts=(start(0),)), off, Plan(), on, Plan(), Plan())
    setting = setting_of(jobs_of((0, 1000, 1), (100, 1, 1), (300, 1, 1)), boot_s=50)
    outcome = outcome_of(setting, policy, until_s=1000)
    assert policy.seen[2].nodes.state[1] == NodeState.OFF
    assert policy.seen[3].nodes.state[1] == NodeState.OFF
    assert (policy.seen[4].now_s, policy.seen[4].nodes.state[1]) == (300, NodeState.BOOTING)
    assert (policy.seen[5].now_s, policy.seen[5].nodes.state[1]) == (350, NodeState.READY)
    idle_w = 100 + 4 * 20
    spent = energy(outcome, outcome.log.table())
    assert spent.idle_j == idle_w * 1000 + idle_w * (1000 - 200)


def test_a_plan_that_gives_a_gpu_twice_is_refused() -> None:
    policy = Scripted(Plan(starts=(start(0), start(1))))
    with pytest.raises(BrokenPlanError, match="not free"):
        outcome_of(setting_of(jobs_of((0, 10, 1), (0, 10, 1))), policy)


def test_checked_plans_are_refused_by_the_invariants() -> None:
    policy = Scripted(Plan())
    with pytest.raises(BrokenPlanError, match="has no entry"):
        outcome_of(setting_of(jobs_of((0, 10, 1))), policy, check_plans=True)


def test_a_policy_that_goes_round_in_circles_is_caught() -> None:
    class Undecided(Scripted):
        """Whichever job runs has to make place for the other, on another node."""

        def plan(self, snapshot: Snapshot) -> Plan:
            running = int(snapshot.jobs.state[1] == JobState.RUNNING)
            stop = snapshot.jobs.state[running] == JobState.RUNNING
            return Plan(
                starts=(start(1 - running, node=1 - running),),
                preempts=(Preempt(running, 1 - running, 0.0),) if stop else (),
            )

    with pytest.raises(BrokenPlanError, match="still changing"):
        outcome_of(setting_of(jobs_of((0, 10, 1), (0, 10, 1), (1, 10, 1))), Undecided())


def test_a_run_ends_when_nothing_can_start_what_is_left() -> None:
    outcome = outcome_of(setting_of(jobs_of((0, 10, 1))), Scripted(), interval_s=60.0)
    assert np.isnan(outcome.finished_s[0])
    assert measure(outcome).summary["finished"] == 0


def test_a_run_stops_at_its_horizon_and_counts_what_was_done() -> None:
    policy = Scripted(Plan(starts=(start(0, 0, 0b11),)))
    outcome = outcome_of(setting_of(jobs_of((0, 100, 2))), policy, until_s=40)
    assert outcome.ended_s == 40
    assert measure(outcome).jobs.held_gpu_s[0] == 80
