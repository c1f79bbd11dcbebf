"""A job stays within one rack or one switch, also where racks and switches cross."""

from itertools import permutations

import numpy as np
import pytest

from policies.bench.placement import PLACEMENTS
from policies.contract.invariants import check_plan
from policies.contract.plan import Piece, Plan, Start
from policies.contract.snapshot import Span
from policies.registry import build
from tests.policies.worlds import Node, World, queued

# Rack 0 lies under both switches, and switch 0 has both racks.
CROSSED = [
    Node(gpus=2, rack=0, switch=0),
    Node(gpus=2, rack=0, switch=1),
    Node(gpus=2, rack=1, switch=0),
]


def broken(span: Span, nodes: tuple[int, ...]) -> set[str]:
    world = World(nodes=CROSSED, jobs=[queued(2 * len(nodes), span=span)])
    pieces = tuple(Piece(node + 1, 0b11, 0, 0) for node in nodes)
    plan = Plan(starts=(Start(1000, pieces),))
    return {violation.code for violation in check_plan(world.snapshot(), plan)}


def test_two_neighbours_are_not_a_group() -> None:
    """Whichever piece is named first: node 1 shares a rack with 2 and a switch with 3."""
    for order in permutations(range(3)):
        assert broken(Span.SWITCH, order) == {"span"}
        assert broken(Span.ANY, order) == set()
    assert broken(Span.SWITCH, (0, 1)) == broken(Span.SWITCH, (0, 2)) == set()
    assert broken(Span.SWITCH, (1, 2)) == {"span"}
    assert broken(Span.RACK, (0, 1)) == set()
    assert broken(Span.RACK, (0, 2)) == {"span"}


@pytest.mark.slow
@pytest.mark.parametrize("placement", sorted(PLACEMENTS))
def test_placements_keep_to_one_group_of_crossed_racks(placement: str) -> None:
    started = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        nodes = [
            Node(
                gpus=int(random.choice([2, 4])),
                rack=int(random.integers(-1, 3)),
                switch=int(random.integers(-1, 3)),
            )
            for _ in range(6)
        ]
        jobs = [
            queued(int(random.integers(2, 11)), span=int(random.choice([Span.RACK, Span.SWITCH])))
            for _ in range(4)
        ]
        snapshot = World(nodes=nodes, jobs=jobs).snapshot()
        plan = build("fifo", {"placement": placement, "strict": False}).plan(snapshot)
        assert check_plan(snapshot, plan) == []
        for start in plan.starts:
            rows = [piece.node - 1 for piece in start.pieces]
            groups = [{nodes[row].rack for row in rows}]
            if jobs[start.job - 1000].columns["span"] == Span.SWITCH:
                groups.append({nodes[row].switch for row in rows})
            assert len(rows) == 1 or any(len(group) == 1 and -1 not in group for group in groups)
            started += len(rows) > 1
    assert started > 50
