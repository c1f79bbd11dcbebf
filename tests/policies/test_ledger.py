"""The ledger: takes, gives back, keeps its indexes true, and places as each strategy says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.bench.bits import buddy_blocks, buddy_take, lowest_bits, members
from policies.bench.ledger import Hold, Ledger
from policies.bench.placement import PLACEMENTS, PlacementName
from policies.bench.reach import shapes_of
from policies.contract.snapshot import Span
from tests.examples import each_seed
from tests.policies.random_worlds import any_size
from tests.policies.worlds import Job, Node, World, queued, running


def ledger_of(world: World, placement: PlacementName) -> Ledger:
    return Ledger(world.snapshot(), PLACEMENTS[placement], keeps_blocks=placement == "buddy")


def place(world: World, job: Job, placement: PlacementName = "pack") -> list[tuple[int, int]]:
    """Where the job goes: node rows and GPU masks."""
    world = World(**{**vars(world), "jobs": [*world.jobs, job]})
    ledger = ledger_of(world, placement)
    hold = try_last(world, ledger)
    return [] if hold is None else [(node, gpus) for node, gpus, _, _ in hold.pieces]


def try_last(world: World, ledger: Ledger) -> Hold | None:
    row = len(world.jobs) - 1
    shapes, _ = shapes_of(ledger.snapshot, np.array([row]))
    ask = ledger.ask(shapes[0], like_job=row)
    return ledger.try_place(ask, 0, ledger.types_within_quota(0, ask))


def test_pack_takes_the_fullest_node_that_fits() -> None:
    world = World([Node(), Node(), Node()], [running((1, 0b11111)), running((2, 0b1111111))])
    assert place(world, queued(2)) == [(1, 0b1100000)]


def test_spread_takes_the_emptiest() -> None:
    world = World([Node(), Node()], [running((0, 0b1))])
    assert place(world, queued(2), "spread") == [(1, 0b11)]


def test_a_node_short_of_cpus_or_memory_is_passed_over() -> None:
    world = World([Node(gpus=2, cpus=1), Node(gpus=2, mem_mib=1), Node(gpus=4)], [])
    assert place(world, queued(2, cpus_per_gpu=2, mem_mib_per_gpu=100)) == [(2, 0b11)]


def test_gang_over_nodes_takes_the_fewest_and_the_tightest_rest() -> None:
    world = World([Node(gpus=4), Node(gpus=8), Node(gpus=8), Node(gpus=2)], [])
    assert place(world, queued(18)) == [(1, 0xFF), (2, 0xFF), (3, 0b11)]


def test_gang_is_whole_or_nothing() -> None:
    assert place(World([Node(gpus=4), Node(gpus=4)], []), queued(9)) == []


def test_gang_does_not_mix_gpu_types() -> None:
    world = World([Node(gpus=4), Node(gpus=4, gpu_type=1)], [], gpu_types=("A100", "H100"))
    assert place(world, queued(6)) == []


TOPOLOGY = World(
    [
        Node(gpus=4, rack=0, switch=0),
        Node(gpus=8, rack=1, switch=0),
        Node(gpus=4, rack=2, switch=1),
        Node(gpus=4, rack=2, switch=1),
    ],
    [running((1, 0b1))],
)


def test_consolidate_prefers_one_rack_where_pack_takes_the_emptiest() -> None:
    assert {node for node, _ in place(TOPOLOGY, queued(8), "consolidate")} == {2, 3}
    assert {node for node, _ in place(TOPOLOGY, queued(8), "pack")} == {1, 0}


def test_consolidate_falls_back_to_a_switch_then_to_anywhere() -> None:
    assert {node for node, _ in place(TOPOLOGY, queued(10), "consolidate")} == {0, 1}
    assert {node for node, _ in place(TOPOLOGY, queued(12), "consolidate")} > {1}


@pytest.mark.parametrize(
    ("span", "gpus", "nodes"),
    [
        (Span.NODE, 8, set()),
        (Span.RACK, 8, {2, 3}),
        (Span.RACK, 9, set()),
        (Span.SWITCH, 10, {0, 1}),
        (Span.SWITCH, 12, set()),
        (Span.ANY, 19, {0, 1, 2, 3}),
    ],
)
@pytest.mark.parametrize("placement", ["pack", "consolidate", "spread"])
def test_span_bounds_how_far_apart_a_gang_lies(
    placement: PlacementName, span: Span, gpus: int, nodes: set[int]
) -> None:
    found = {node for node, _ in place(TOPOLOGY, queued(gpus, span=span), placement)}
    assert found == nodes


def test_buddy_splits_the_smallest_block() -> None:
    world = World([Node(), Node()], [running((0, 0b11)), running((1, 0b1111))])
    # Node 0 has blocks of 2 and 4 free, node 1 one of 4.
    assert place(world, queued(2), "buddy") == [(0, 0b1100)]
    assert place(world, queued(4), "buddy") == [(0, 0b11110000)]


def test_buddy_takes_no_scattered_gpus() -> None:
    world = World([Node(gpus=4)], [running((0, 0b0001)), running((0, 0b0100))])
    assert place(world, queued(2), "buddy") == []
    assert place(world, queued(2), "pack") == [(0, 0b1010)]


def test_buddy_gives_a_whole_odd_node() -> None:
    assert place(World([Node(gpus=6)], []), queued(6), "buddy") == [(0, 0b111111)]


def test_buddy_gang_takes_whole_nodes_and_a_block() -> None:
    world = World([Node(gpus=4), Node(gpus=4), Node(gpus=4)], [running((0, 0b0001))])
    assert place(world, queued(6), "buddy") == [(1, 0b1111), (0, 0b1100)]


def test_quotas_leave_out_types_that_are_used_up() -> None:
    world = World(
        [Node(gpus=4), Node(gpus=4, gpu_type=1)],
        [running((0, 0b11)), queued(2)],
        gpu_types=("A100", "H100"),
        type_quotas=[[3, -1]],
    )
    hold = try_last(world, ledger_of(world, "pack"))
    assert hold is not None
    assert hold.gpu_type == 1


def book(ledger: Ledger) -> tuple[object, ...]:
    indexes = [
        (key, list(index.by_count), index.counts, list(index.by_order))
        for key, index in ledger.indexes.items()
    ]
    return (
        list(ledger.free),
        list(ledger.cpus),
        list(ledger.mem_mib),
        list(ledger.used),
        [list(used) for used in ledger.used_by_type],
        indexes,
    )


@pytest.mark.parametrize("placement", list(PLACEMENTS))
@each_seed(100)
def test_undo_restores_the_book_and_indexes_stay_true(placement: PlacementName, seed: int) -> None:
    ledger = ledger_of(any_size(seed), placement)
    snapshot = ledger.snapshot
    rows = np.flatnonzero(snapshot.jobs.state == 0)
    shapes, index = shapes_of(snapshot, rows)
    asks = [
        ledger.ask(shape, like_job=int(rows[index.index(at)])) for at, shape in enumerate(shapes)
    ]
    pages: list[tuple[tuple[object, ...], float, int]] = []
    for row, at in zip(rows.tolist(), index, strict=True):
        before, watts_left, mark = book(ledger), ledger.watts_left, ledger.keep_journal()
        tenant = int(snapshot.jobs.tenant[row])
        types = ledger.types_within_quota(tenant, asks[at])
        hold = ledger.try_place(asks[at], tenant, types, borrow=shapes[at].borrows)
        if hold is None:
            assert book(ledger) == before
        else:
            assert sum(gpus.bit_count() for _, gpus, _, _ in hold.pieces) == asks[at].gpus
            pages.append((before, watts_left, mark))
    assert_indexes_true(ledger)
    for before, watts_left, mark in reversed(pages):
        ledger.undo(mark)
        assert book(ledger) == before
        assert ledger.watts_left == watts_left


def assert_indexes_true(ledger: Ledger) -> None:
    for index in ledger.indexes.values():
        for count, nodes in enumerate(index.by_count):
            assert all(ledger.free[node].bit_count() == count for node in members(nodes))
            assert bool(nodes) == bool(index.counts >> count & 1)


@given(free=st.integers(0, 255), width=st.integers(1, 8), count=st.integers(1, 8))
def test_buddy_blocks_are_aligned_free_and_as_large_as_can_be(
    free: int, width: int, count: int
) -> None:
    free &= (1 << width) - 1
    blocks = buddy_blocks(free, width)
    covered = 0
    for order, first in blocks:
        assert first % (1 << order) == 0
        gpus = ((1 << (1 << order)) - 1) << first & ((1 << width) - 1)
        assert free & gpus == gpus
        assert not covered & gpus
        covered |= gpus
    assert covered == free
    taken = buddy_take(free, width, count)
    assert taken & ~free == 0
    assert taken.bit_count() == (count if taken else 0)


@given(bits=st.integers(0, 2**64 - 1))
def test_lowest_bits_are_the_first_members(bits: int) -> None:
    count = bits.bit_count() // 2
    assert list(members(lowest_bits(bits, count))) == list(members(bits))[:count]
