"""Whom to stop for an ask on a node, over a gang and in a block, with the cost of each by hand."""

from typing import Any

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.placement import buddy, pack
from policies.bench.reach import Shape
from policies.bench.victims.cover import Missing, Victim, cheapest_cover
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Preemptor, Victims
from policies.contract.snapshot import Span
from tests.policies.worlds import Job, Node, World, queued, running


def victim(row: int, cost: float, gpus: int, cpus: int = 0) -> Victim:
    return Victim(cost, gpus, cpus, 0, row)


def stopped(victims: list[Victim] | None) -> list[int] | None:
    return None if victims is None else sorted(one.row for one in victims)


def test_a_cover_costs_least_not_least_per_gpu() -> None:
    """Three GPUs: 1 alone costs 5; the cheap single ones together 6."""
    crowd = [victim(0, 2.0, 1), victim(1, 5.0, 4), victim(2, 2.0, 1), victim(3, 2.0, 1)]
    assert stopped(cheapest_cover(crowd, Missing(3, 0, 0))) == [1]
    assert stopped(cheapest_cover(crowd, Missing(2, 0, 0))) == [0, 2]
    assert stopped(cheapest_cover(crowd, Missing(8, 0, 0))) is None
    assert cheapest_cover(crowd, Missing(0, -3, 0)) == []


def test_a_cover_frees_cpus_as_well() -> None:
    crowd = [victim(0, 1.0, 1, cpus=1), victim(1, 3.0, 1, cpus=8)]
    assert stopped(cheapest_cover(crowd, Missing(1, 4, 0))) == [1]
    assert stopped(cheapest_cover(crowd, Missing(1, 9, 0))) == [0, 1]


def preemption(jobs: list[Job], nodes: list[Node], *, most: int = 9, **ledger: Any) -> Preemption:
    """Everybody may be stopped by a preemptor of a key below 10."""
    snapshot = World(nodes, [*jobs, queued()]).snapshot()
    held = Ledger(snapshot, **{"strategy": pack, **ledger})
    threshold = np.full(len(snapshot.jobs), 10.0)
    victims = Victims(snapshot, threshold, min_run_s=0.0, by_rank=True)
    return Preemption(held, victims, max_preemptions=most)


def make_room(found: Preemption, gpus: int, *, key: float = 1.0, span: Span = Span.ANY) -> bool:
    row = len(found.ledger.snapshot.jobs) - 1
    ask = found.ledger.ask(Shape(-1, 1, gpus, 0, 0, span, False, -1), like_job=row)
    return found.make_room(Preemptor(row, key, 0, -1), ask, ask.types)


def test_the_node_of_the_least_lost_work_is_cleared() -> None:
    """Node 0 has one free GPU and a job of 100 s on it; node 1 two of 60 s each."""
    jobs = [
        running((0, 0b0111), since_s=100.0),
        running((1, 0b0011), since_s=60.0),
        running((1, 0b1100), since_s=70.0),
    ]
    found = preemption(jobs, [Node(gpus=4), Node(gpus=4)])
    assert make_room(found, 2)
    assert [(v.row, v.cost, row) for v, row in found.preempted] == [(1, 120.0, 3)]
    assert found.ledger.free == [0b1000, 0], "its GPUs are free only once it has stopped"


def test_what_was_stopped_for_one_serves_the_next() -> None:
    found = preemption([running((0, 0b1111), since_s=10.0)], [Node(gpus=4)])
    assert make_room(found, 1)
    assert make_room(found, 3)
    assert not make_room(found, 1)
    assert len(found.preempted) == 1


def test_a_gang_stops_work_on_several_nodes() -> None:
    jobs = [running((node, 0b11), since_s=10.0 * (node + 1)) for node in range(3)]
    nodes = [Node(gpus=2) for _ in range(3)]
    found = preemption(jobs, nodes)
    assert make_room(found, 4)
    assert sorted(v.row for v, _ in found.preempted) == [0, 1]
    assert not make_room(preemption(jobs, nodes), 4, span=Span.NODE)


def test_a_block_is_cleared_of_all_that_lie_in_it() -> None:
    """GPUs 0 and 1 are held by two jobs of 50 s, 2 and 3 by one of 90 s on both."""
    jobs = [
        running((0, 0b0001), since_s=50.0),
        running((0, 0b0010), since_s=50.0),
        running((0, 0b1100), since_s=90.0),
    ]
    found = preemption(jobs, [Node(gpus=4)], strategy=buddy, keeps_blocks=True)
    assert make_room(found, 2)
    assert sorted(v.row for v, _ in found.preempted) == [0, 1]


def test_nobody_is_stopped_for_an_equal_or_beyond_the_allowance() -> None:
    jobs = [running((0, 0b01)), running((0, 0b10))]
    assert not make_room(preemption(jobs, [Node(gpus=2)]), 1, key=10.0)
    assert not make_room(preemption(jobs, [Node(gpus=2)], most=1), 2)
    assert make_room(preemption(jobs, [Node(gpus=2)], most=2), 2)
    assert not preemption(jobs, [Node(gpus=2)], most=0).possible
