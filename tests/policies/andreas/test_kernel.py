"""The compiled kernel and its plain twin give the same numbers; options keep what they promise."""

from typing import Any

import numpy as np
import pytest

from policies.andreas import kernel
from policies.andreas import kernel as plain_kernel
from policies.andreas.formulate import formulate
from policies.andreas.parameters import AndreasParameters
from policies.andreas.problem import Scratch
from policies.andreas.search import generator_state, greedy, grown, search
from policies.bench.compiled import compiled
from policies.bench.roster import startable
from policies.contract.snapshot import Snapshot
from policies.pricing.price_line import price_line
from tests.policies.andreas.published import CONV_NET, LSTM, TESLA, TURING, paper_snapshot
from tests.policies.random_worlds import random_world

OPTIONS: list[dict[str, Any]] = [
    {},
    {"walks_on": True, "swap_bias": -0.3},
    {"alpha": 0.8},
    {"objective": "proxy", "energy": "node"},
    {"path_relinking": 5, "local_search": 4},
]


def crowd(jobs: int, seed: int = 0) -> Snapshot:
    """More jobs of the paper than its nodes hold."""
    rng = np.random.default_rng(seed)
    return paper_snapshot(
        [TESLA, TURING] * 3,
        [
            {
                "app": int(rng.integers(4)),
                "epochs": int(rng.integers(50, 300)),
                "due_s": float(rng.uniform(-2000, 20_000)),
                "priority": int(rng.integers(1, 6)),
            }
            for _ in range(jobs)
        ],
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_kernel_and_twin_agree(options: dict[str, Any], seed: int) -> None:
    parameters = AndreasParameters(iterations=25, **options)
    worlds = [crowd(30, seed), random_world(seed, nodes=7, queue=20, run=6).snapshot()]
    for snapshot in worlds:
        line = price_line(snapshot, 0.2)
        found = formulate(snapshot, startable(snapshot), parameters, line)
        theirs = search(found, parameters, seed, kernel)
        ours = search(found, parameters, seed)
        assert ours.value == theirs.value
        assert ours.config_of.tolist() == theirs.config_of.tolist()
        assert ours.node_of.tolist() == theirs.node_of.tolist()
        wide, wide_twin = grown(found, ours), grown(found, theirs, kernel)
        assert wide.config_of.tolist() == wide_twin.config_of.tolist()


def test_random_numbers_are_the_published_generator() -> None:
    """Marsaglia's xorshift32 from 1: 270369, 67634689, ..."""
    for code in (kernel, compiled(plain_kernel)):
        state = np.array([1])
        drawn = [int(code.draw(state) * 2**32) for _ in range(2)]
        assert drawn == [270369, 67634689]
    assert len({generator_state(seed) for seed in range(1000)}) == 1000
    assert all(0 < generator_state(seed) < 2**32 for seed in (0, 1, 2**63 - 1))


def test_a_lone_bit_is_numbered() -> None:
    everything = np.ones(64, np.int64)
    for bit in range(32):
        found = kernel.fitting(1 << bit, 7, everything, everything, 1, 1, np.zeros(64))
        assert found == 7 + bit


def test_drawing_from_a_list_takes_its_first_entries_only() -> None:
    """With alpha 0.5, one of the first two of four; the others keep their order."""
    seen = set()
    state = np.array([12345])
    for _ in range(50):
        drawn = np.array([10, 11, 12, 13])
        kernel.pick(drawn, 0, 4, 0.5, state)
        seen.add(tuple(drawn.tolist()))
    assert seen == {(10, 11, 12, 13), (11, 10, 12, 13)}


def test_swaps_favour_the_heavier_neighbour() -> None:
    weight = np.array([1.0, 2.0])
    state = np.array([99])
    swapped = 0
    for _ in range(4000):
        order = np.array([0, 1])
        kernel.shuffle(order, weight, 0.05, state)
        swapped += order.tolist() == [1, 0]
    assert 0.53 < swapped / 4000 < 0.57


def test_more_constructions_and_the_follow_ups_never_do_worse() -> None:
    for seed in range(4):
        snapshot = crowd(40, seed)
        line = price_line(snapshot, 0.2)
        values = []
        for options in ({"iterations": 1}, {"iterations": 200}, {"iterations": 200, **OPTIONS[4]}):
            parameters = AndreasParameters(energy="node", **options)
            rows = startable(snapshot)
            found = formulate(snapshot, rows, parameters, line)
            values.append(search(found, parameters, seed).value)
        assert values == sorted(values, reverse=True)
        assert values[0] == greedy(found, found.order()).value


def test_local_search_leaves_a_trap_of_the_greedy() -> None:
    """Two jobs take two GPUs each to be in time; halved, one leaves room for another."""
    jobs = [
        {"app": LSTM, "epochs": 120, "due_s": 4000, "weight": 1e-7},
        *({"app": CONV_NET, "epochs": 160, "due_s": 3200, "weight": 0.01} for _ in range(3)),
    ]
    snapshot = paper_snapshot([TESLA], jobs)
    parameters = AndreasParameters(iterations=1, energy="node", local_search=5)
    line = price_line(snapshot, 0.2)
    found = formulate(snapshot, np.arange(4), parameters, line)
    plain, better = greedy(found, found.order()), search(found, parameters, 0)
    assert (plain.config_of < 0).sum() == 2
    assert (better.config_of < 0).sum() == 1
    assert better.value < plain.value


def test_a_room_is_as_empty_after_a_reset() -> None:
    snapshot = crowd(30)
    line = price_line(snapshot, 0.2)
    found = formulate(snapshot, np.arange(30), AndreasParameters(), line)
    room = Scratch.of(found.problem)
    wants = np.full(30, -1)
    first = kernel.construct(found.problem, room, found.order(), wants, 0.0)
    assert kernel.construct(found.problem, room, found.order(), wants, 0.0) == first
    kernel.reset(found.problem, room)
    assert room.free.tolist() == found.problem.node_free.tolist()
    assert room.counts.tolist() == room.first_counts.tolist()
