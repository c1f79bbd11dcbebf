"""Blocks that split and merge, whole nodes that lie near, and moves that clear a block."""

import pytest

from policies.bench.bits import buddy_blocks
from policies.bench.ledger import Hold, Ledger
from policies.bench.placement import buddy
from policies.bench.reach import Shape
from policies.contract.plan import Plan
from policies.contract.snapshot import Span
from tests.policies.test_powerflow_greedy import STEADY_JOB, at, elastic, planned, world
from tests.policies.worlds import NOW_S, Job, Node, World, queued


def shape(gpus: int) -> Shape:
    return Shape(-1, 1, gpus, 0, 0, Span.ANY, False, -1)


def test_blocks_split_on_the_way_down_and_merge_on_the_way_up() -> None:
    ledger = Ledger(World([Node(gpus=8)], [queued(1)]).snapshot(), buddy, keeps_blocks=True)

    def take(gpus: int) -> tuple[int, int]:
        ask = ledger.ask(shape(gpus), like_job=0)
        hold = ledger.try_place(ask, 0, ask.types)
        assert hold is not None
        holds.append(hold)
        return hold.pieces[0][:2]

    holds: list[Hold] = []
    assert take(1) == (0, 0b0000_0001)
    assert buddy_blocks(ledger.free[0], 8) == ((0, 1), (1, 2), (2, 4))
    assert take(2) == (0, 0b0000_1100)
    assert take(1) == (0, 0b0000_0010)
    assert take(4) == (0, 0b1111_0000)
    assert ledger.free[0] == 0
    for at_, merged in ((1, ((1, 2),)), (0, ((0, 0), (1, 2))), (2, ((2, 0),)), (3, ((3, 0),))):
        ledger.give(holds[at_].pieces)
        assert buddy_blocks(ledger.free[0], 8) == merged


def test_a_job_larger_than_a_node_takes_whole_nodes_of_one_rack() -> None:
    nodes = [
        Node(gpus=4, rack=0, switch=0),
        Node(gpus=4, rack=1, switch=0),
        Node(gpus=4, rack=0, switch=0),
        Node(gpus=4, rack=1, switch=0),
    ]
    jobs = [at(STEADY_JOB, (0, 0b1), least=1, most=1), wide(8)]
    plan = planned(world(nodes, jobs))
    assert sorted(piece.node for piece in plan.starts[0].pieces) == [2, 4]
    assert [piece.gpus for piece in plan.starts[0].pieces] == [0b1111, 0b1111]


def wide(gpus: int) -> Job:
    job = elastic()
    job.gpus = job.max_gpus = gpus
    return job


def test_the_fullest_node_that_fits_is_filled_first() -> None:
    jobs = [at(STEADY_JOB, (1, 0b0001), most=1), wide(1)]
    plan = planned(world([Node(gpus=4), Node(gpus=4)], jobs))
    assert plan.starts[0].pieces[0].node == 2


def scattered(**columns: float) -> Plan:
    """Two free GPUs on each of two nodes, none beside the other's buddy, and a job of four."""
    jobs = [
        at(STEADY_JOB, (0, 0b0011), least=2, most=2, checkpoint_s=NOW_S, **columns),
        at(STEADY_JOB, (1, 0b1100), least=2, most=2, checkpoint_s=NOW_S, **columns),
        wide(4),
    ]
    return planned(world([Node(gpus=4), Node(gpus=4)], jobs))


def test_a_block_is_cleared_by_moving_when_enough_gpus_are_free() -> None:
    plan = scattered(restart_cost_s=60.0)
    (move,) = plan.moves
    assert (move.job, [(p.node, p.gpus) for p in move.pieces]) == (1000, [(2, 0b0011)])
    # The block can be used once it is clear.
    assert plan.starts == ()
    assert plan.waits.job.tolist() == [1002]


def test_no_block_is_cleared_for_less_than_it_costs() -> None:
    # It runs for 1e6 steps at 4.32 a second: 231 ks, sooner than any other ends.
    assert scattered(restart_cost_s=231e3).moves
    assert not scattered(restart_cost_s=232e3).moves


def test_a_block_is_cleared_for_a_job_that_grows() -> None:
    jobs = [
        at(STEADY_JOB, (0, 0b0011), least=2, most=4, work=1e6, checkpoint_s=NOW_S),
        at(STEADY_JOB, (0, 0b0100), least=1, most=1, work=1e6, checkpoint_s=NOW_S),
        at(STEADY_JOB, (1, 0b0011), least=2, most=2, work=1e6, checkpoint_s=NOW_S),
        at(STEADY_JOB, (1, 0b0100), least=1, most=1, work=1e6, checkpoint_s=NOW_S),
    ]
    plan = planned(world([Node(gpus=4), Node(gpus=4)], jobs))
    (move,) = plan.moves
    assert (move.job, [(p.node, p.gpus) for p in move.pieces]) == (1001, [(2, 0b1000)])
    assert not plan.resizes


def test_a_job_of_whole_nodes_is_helped_to_its_last_one() -> None:
    jobs = [
        at(STEADY_JOB, (0, 0b1111), least=4, most=8, work=1e6, checkpoint_s=NOW_S),
        at(STEADY_JOB, (1, 0b0001), least=1, most=1, work=1e6, checkpoint_s=NOW_S),
        at(STEADY_JOB, (2, 0b0001), least=1, most=1, work=1e6, checkpoint_s=NOW_S),
    ]
    plan = planned(world([Node(gpus=4), Node(gpus=4), Node(gpus=4)], jobs))
    (move,) = plan.moves
    assert (move.job, [(p.node, p.gpus) for p in move.pieces]) == (1001, [(3, 0b0010)])


@pytest.mark.parametrize("least", [1, 2])
def test_growing_jobs_keep_their_own_gpus_where_they_can(least: int) -> None:
    job = at(STEADY_JOB, (0, 0b0011), least=least, most=4)
    (resize,) = planned(world([Node(gpus=4)], [job])).resizes
    assert [(piece.node, piece.gpus) for piece in resize.pieces] == [(1, 0b1111)]
