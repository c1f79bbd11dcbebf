"""One pass over the queue: in which order its starts are written."""

from policies.registry import build
from tests.policies.worlds import Node, World, queued


def test_borrowers_stand_among_the_others_in_the_order_of_the_queue() -> None:
    """The first job borrows, after all owners were served; it is written first all the same."""
    nodes = [Node(gpus=1, partition=0)]
    jobs = [queued(1, partition=1), queued(1, partition=0), queued(1, partition=1)]
    world = World([*nodes, Node(gpus=2, partition=2)], jobs, partitions=[True, True, True])
    plan = build("sjf", {}).plan(world.snapshot())
    assert [start.job for start in plan.starts] == [1000, 1001, 1002]
