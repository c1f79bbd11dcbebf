"""Who may start, who may be stopped, and what that loses, one column at a time."""

import numpy as np

from policies.bench.roster import (
    borrowing,
    in_turn,
    just_started,
    lost_s,
    on_unready_node,
    remaining_s,
    startable,
    stoppable,
)
from policies.contract.columns import Bool
from policies.contract.snapshot import Blocked, JobState, NodeState
from tests.policies.worlds import NOW_S, Node, World, queued, running


def rows(mask: Bool) -> list[int]:
    return np.flatnonzero(mask).tolist()


def test_who_may_start_comes_by_priority_then_by_age() -> None:
    jobs = [
        queued(submitted_s=3.0),
        queued(submitted_s=1.0),
        queued(submitted_s=2.0, blocked=Blocked.DEPENDENCY),
        queued(submitted_s=2.0, blocked=Blocked.HELD),
        queued(submitted_s=2.0, tenant=1),
        running((0, 0b1)),
        queued(submitted_s=1.0),
        queued(submitted_s=9.0, priority=1),
    ]
    world = World([Node()], jobs, quotas=[-1, -1], energy_left_j=[1.0, 0.0])
    assert startable(world.snapshot()).tolist() == [7, 1, 6, 0]
    assert in_turn(world.snapshot(), np.array([0, 4])).tolist() == [4, 0]
    assert in_turn(world.snapshot(), np.array([0, 4]), np.array([1.0, 2.0])).tolist() == [0, 4]


def test_who_may_be_stopped_has_run_long_enough_and_allows_it() -> None:
    jobs = [
        running((0, 0b1), since_s=60.0),
        running((0, 0b10), since_s=59.0),
        running((0, 0b100), since_s=100.0, min_run_s=101.0),
        running((0, 0b1000), preemptible=False),
        running((0, 0b10000), state=JobState.STOPPING),
        queued(),
    ]
    snapshot = World([Node()], jobs).snapshot()
    assert rows(stoppable(snapshot, 60.0)) == [0]
    assert rows(stoppable(snapshot, 0.0)) == [0, 1]


def test_a_job_of_this_very_moment_has_just_started() -> None:
    jobs = [running((0, 0b1), since_s=0.0), running((0, 0b10), since_s=0.1), queued()]
    assert rows(just_started(World([Node()], jobs).snapshot())) == [0]


def test_one_piece_abroad_or_on_a_node_that_is_not_ready_is_enough() -> None:
    nodes = [Node(partition=0), Node(partition=1), Node(partition=0, state=NodeState.DRAINING)]
    jobs = [
        running((0, 0b1), partition=0),
        running((0, 0b10), (1, 0b1), partition=0),
        running((0, 0b100), (2, 0b1), partition=0),
        queued(partition=1),
    ]
    snapshot = World(nodes, jobs, partitions=[True, True]).snapshot()
    assert rows(borrowing(snapshot)) == [1]
    assert rows(on_unready_node(snapshot)) == [2]


def test_lost_is_the_work_since_the_checkpoint_and_the_restart() -> None:
    jobs = [
        running((0, 0b1), since_s=500.0),
        running((0, 0b10), since_s=500.0, checkpoint_s=NOW_S - 200.0, restart_cost_s=30.0),
        running((0, 0b100), since_s=500.0, checkpoint_s=NOW_S - 900.0),
        queued(restart_cost_s=7.0),
    ]
    assert lost_s(World([Node()], jobs).snapshot()).tolist() == [500.0, 230.0, 500.0, 7.0]


def test_an_unknown_time_is_endless_unless_said_otherwise() -> None:
    snapshot = World([Node()], [queued(est_run_s=5.0), queued()]).snapshot()
    assert remaining_s(snapshot).tolist() == [5.0, np.inf]
    assert remaining_s(snapshot, 60.0).tolist() == [5.0, 60.0]
