"""Whom to stop for a place, by hand: the least work lost, and nobody where nodes are empty."""

from policies.bench.ledger import Ledger
from policies.bench.placement import PLACEMENTS
from policies.bench.victims.less_urgent import LessUrgent
from tests.policies.worlds import Node, World, running

WIDTH = 4
MASK = (1 << WIDTH) - 1


def stoppable(busy: int, empty: int) -> LessUrgent:
    """Job `i` holds node `i` whole, less urgent than 1, and loses more the higher its number."""
    jobs = [running((node, MASK)) for node in range(busy)]
    world = World(nodes=[Node(gpus=WIDTH) for _ in range(busy + empty)], jobs=jobs)
    found = LessUrgent(Ledger(world.snapshot(), PLACEMENTS["buddy"]))
    for job in range(busy):
        found.add(job, [(job, MASK, 0, 0)], lost_s=60.0 * (job + 1), urgency=0.1 * job)
    return found


def test_as_many_nodes_are_cleared_as_are_missing() -> None:
    assert stoppable(3, empty=1).cheapest(1.0, 3 * WIDTH, WIDTH, whole=1) == [0, 1]


def test_nobody_is_stopped_where_enough_nodes_are_empty() -> None:
    assert stoppable(3, empty=4).cheapest(1.0, 2 * WIDTH, WIDTH, whole=4) == []


def test_only_less_urgent_work_is_stopped() -> None:
    assert stoppable(3, empty=0).cheapest(0.1, WIDTH, WIDTH, whole=0) == [0]
    assert stoppable(3, empty=0).cheapest(0.0, WIDTH, WIDTH, whole=0) == []
