"""Where a job goes: on one node if it can, else over nodes, by one of several strategies."""

from collections.abc import Iterator
from typing import Literal

from policies.bench.bits import buddy_take, lowest_bits, members
from policies.bench.drain import Takes
from policies.bench.ledger import Ask, Indexes, Ledger, RowPiece, Strategy
from policies.bench.machine_layout import LayoutCache
from policies.contract.snapshot import Snapshot, Span

ALL_NODES = -1

PlacementName = Literal["pack", "spread", "consolidate", "buddy", "random"]


def pack(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The fullest node that fits; else the fewest nodes, wherever the job's span lets them lie."""
    found = _fullest_node(ledger, ask, indexes)
    return found or _over_nodes(ledger, ask, indexes, ask.span.groups())


def spread(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The emptiest node that fits; else as pack."""
    for count in _descending(_counts(indexes) >> ask.gpus << ask.gpus):
        node = _first_fit(ledger, ask, _bucket(indexes, count))
        if node >= 0:
            return [piece(ledger, ask, node, ask.gpus)]
    return _over_nodes(ledger, ask, indexes, ask.span.groups())


def consolidate(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The fullest node that fits; else one rack, else one switch, else anywhere in the span."""
    found = _fullest_node(ledger, ask, indexes)
    return found or _over_nodes(ledger, ask, indexes, _outwards(ask))


def buddy(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The smallest aligned block that fits; a job larger than a node takes whole nodes first."""
    block = _smallest_block(ledger, ask, indexes, ask.gpus, ALL_NODES)
    return block or _over_nodes(ledger, ask, indexes, _outwards(ask))


def random(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The next node that fits from a random one on; else as pack. The floor to compare with."""
    fitting = 0
    for count in members(_counts(indexes) >> ask.gpus << ask.gpus):
        fitting |= _bucket(indexes, count)
    if fitting:
        first = int(ledger.random.integers(fitting.bit_length()))
        for part in (fitting >> first << first, fitting & ~(-1 << first)):
            node = _first_fit(ledger, ask, part)
            if node >= 0:
                return [piece(ledger, ask, node, ask.gpus)]
    return _over_nodes(ledger, ask, indexes, (ask.span,))


PLACEMENTS: dict[PlacementName, Strategy] = {
    "pack": pack,
    "spread": spread,
    "consolidate": consolidate,
    "buddy": buddy,
    "random": random,
}


def placing_ledger(snapshot: Snapshot, name: PlacementName, layouts: LayoutCache) -> Ledger:
    """The ledger of a round in which jobs are placed that way."""
    keeps_blocks = name == "buddy"
    return Ledger(snapshot, PLACEMENTS[name], keeps_blocks=keeps_blocks, layouts=layouts)


def takes_of(name: PlacementName) -> Takes:
    """What jobs start on where they are placed that way."""
    return "blocks" if name == "buddy" else "gpus"


def piece(ledger: Ledger, ask: Ask, node: int, gpus: int) -> RowPiece:
    return (node, lowest_bits(ledger.free[node], gpus), ask.cpus * gpus, ask.mem_mib * gpus)


def _fullest_node(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    gpus = ask.gpus
    for count in members(_counts(indexes) >> gpus << gpus):
        node = _first_fit(ledger, ask, _bucket(indexes, count))
        if node >= 0:
            return [piece(ledger, ask, node, gpus)]
    return None


def _first_fit(ledger: Ledger, ask: Ask, bucket: int) -> int:
    candidates = bucket & ~ask.unfit if ask.unfit else bucket
    while candidates:
        lowest = candidates & -candidates
        node = lowest.bit_length() - 1
        if ledger.fits(node, ask, ask.gpus):
            return node
        ask.unfit |= lowest
        candidates ^= lowest
    return -1


def _over_nodes(
    ledger: Ledger, ask: Ask, indexes: Indexes, spans: tuple[Span, ...]
) -> list[RowPiece] | None:
    for span in spans:
        for within in _groups(indexes, span, ask.gpus):
            gather = _gather_whole if ledger.keeps_blocks else _gather
            if pieces := gather(ledger, ask, indexes, within):
                return pieces
    return None


def _outwards(ask: Ask) -> tuple[Span, ...]:
    return tuple(span for span in (Span.RACK, Span.SWITCH, Span.ANY) if span <= ask.span)


def _groups(indexes: Indexes, span: Span, gpus: int) -> Iterator[int]:
    """Node sets of that span with enough GPUs free, the fullest first."""
    if span is Span.NODE:
        return
    if span is Span.ANY:
        yield ALL_NODES
        return
    free: dict[int, int] = {}
    nodes: dict[int, int] = {}
    for index in indexes:
        for group, members_of in index.nodes_in[span].items():
            free[group] = free.get(group, 0) + index.free_among(members_of)
            nodes[group] = nodes.get(group, 0) | members_of
    for _, group in sorted((count, group) for group, count in free.items() if count >= gpus):
        yield nodes[group]


def _gather(ledger: Ledger, ask: Ask, indexes: Indexes, within: int) -> list[RowPiece] | None:
    """Emptiest nodes first, which needs the fewest; the rest goes where it fits tightest."""
    pieces: list[RowPiece] = []
    missing = ask.gpus
    used = 0
    for count in _descending(_counts(indexes) & ~1):
        for node in members(_bucket(indexes, count) & within):
            room = ledger.room(node, ask)
            if room >= missing:
                tightest = _tightest(ledger, ask, indexes, missing, within & ~used)
                return [*pieces, piece(ledger, ask, tightest, missing)]
            if room:
                pieces.append(piece(ledger, ask, node, room))
                missing -= room
                used |= 1 << node
    return None


def _tightest(ledger: Ledger, ask: Ask, indexes: Indexes, gpus: int, within: int) -> int:
    for count in members(_counts(indexes) >> gpus << gpus):
        for node in members(_bucket(indexes, count) & within):
            if ledger.room(node, ask) >= gpus:
                return node
    raise AssertionError("the caller saw a node with room")


def _smallest_block(
    ledger: Ledger, ask: Ask, indexes: Indexes, gpus: int, within: int
) -> list[RowPiece] | None:
    for order in range((gpus - 1).bit_length(), 7):
        bucket = 0
        for index in indexes:
            bucket |= index.by_order[order]
        for node in members(bucket & within):
            block = buddy_take(ledger.free[node], ledger.gpus[node], gpus)
            if block and ledger.fits(node, ask, gpus):
                return [(node, block, ask.cpus * gpus, ask.mem_mib * gpus)]
    return None


def _gather_whole(ledger: Ledger, ask: Ask, indexes: Indexes, within: int) -> list[RowPiece] | None:
    pieces: list[RowPiece] = []
    missing = ask.gpus
    for count in _descending(_counts(indexes) & ~1):
        for node in members(_bucket(indexes, count) & within):
            if ledger.gpus[node] == count < missing and ledger.fits(node, ask, count):
                pieces.append(piece(ledger, ask, node, count))
                missing -= count
                within &= ~(1 << node)
    if not pieces:
        return None
    rest = _smallest_block(ledger, ask, indexes, missing, within)
    return pieces + rest if rest else None


def _counts(indexes: Indexes) -> int:
    if len(indexes) == 1:
        return indexes[0].counts
    counts = 0
    for index in indexes:
        counts |= index.counts
    return counts


def _bucket(indexes: Indexes, count: int) -> int:
    if len(indexes) == 1:
        return indexes[0].by_count[count]
    nodes = 0
    for index in indexes:
        nodes |= index.by_count[count]
    return nodes


def _descending(bits: int) -> Iterator[int]:
    while bits:
        highest = bits.bit_length() - 1
        yield highest
        bits ^= 1 << highest
