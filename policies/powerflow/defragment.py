"""Room for one block, made by moving running jobs out of it when that costs less than waiting."""

from collections.abc import Sequence
from typing import NamedTuple

from policies.ledger import RowPiece
from policies.powerflow.book import Book
from policies.powerflow.candidates import Candidate


class _Block(NamedTuple):
    cost_gpu_s: float
    node: int
    mask: int
    movers: list[Candidate]


def make_block(book: Book, one: Candidate, movable: Sequence[Candidate]) -> bool:
    """Clear the cheapest block for a job, although only the next round can use it; or nothing.

    Jobs that move keep their GPU count and lie on one node before and after.
    """
    ledger, gpus = book.ledger, one.gpus
    ask = book.ask(one, gpus)
    nodes = ledger.nodes_of(ask.own[one.place.kind])
    free = sum(ledger.free[node].bit_count() for node in nodes)
    if free < gpus:
        return False
    worth = gpus * _waits_s(one, movable)
    on_node: dict[int, list[Candidate]] = {}
    for other in movable:
        if len(other.pieces) == 1:
            on_node.setdefault(other.pieces[0][0], []).append(other)
    blocks = [
        block
        for node in nodes
        for block in _blocks(book, node, gpus, on_node.get(node, ()))
        if block.cost_gpu_s < worth
    ]
    for block in sorted(blocks, key=lambda block: block[:3]):
        targets = _targets(book, block)
        if targets is not None:
            for other, piece in zip(block.movers, targets, strict=True):
                book.move(other, [piece])
            return True
    return False


def _waits_s(one: Candidate, others: Sequence[Candidate]) -> float:
    """How long it would wait for the next job to end, at most as long as it runs itself."""
    ends_s = [
        other.left_s(rung, other.ladder.clock_of(rung, other.clock_mhz))
        for other in others
        if (rung := other.ladder.rung_of(other.held)) >= 0
    ]
    return min([one.left_s(one.rung, one.clock), *ends_s])


def _blocks(book: Book, node: int, gpus: int, there: Sequence[Candidate]) -> list[_Block]:
    """The aligned blocks of a node that are free but for jobs that may move."""
    ledger, width = book.ledger, book.ledger.gpus[node]
    size = 1 << (gpus - 1).bit_length()
    found = []
    for first in range(0, width - gpus + 1, size):
        mask = ((1 << gpus) - 1) << first
        movers = [other for other in there if other.pieces[0][1] & mask]
        held = 0
        for other in movers:
            held |= other.pieces[0][1]
        if movers and not mask & ~ledger.free[node] & ~held:
            cost = sum(other.cost_s * other.held for other in movers)
            found.append(_Block(cost, node, mask, movers))
    return found


def _targets(book: Book, block: _Block) -> list[RowPiece] | None:
    """Where the movers go, taken from the ledger; None, with nothing taken, if nowhere."""
    ledger = book.ledger
    aside = (block.node, ledger.free[block.node], 0, 0)
    ledger.take([aside])
    taken: list[RowPiece] = []
    for other in block.movers:
        ask = book.ask(other, other.held)
        pieces = ledger.strategy(ledger, ask, ask.own[other.place.kind])
        if pieces is None or len(pieces) > 1 or not _affordable(book, other, pieces[0][0]):
            ledger.give([*taken, aside])
            return None
        ledger.take(pieces)
        taken += pieces
    # The block stays aside for the job that it is for.
    ledger.give([(block.node, aside[1] & ~block.mask, 0, 0)])
    return taken


def _affordable(book: Book, other: Candidate, node: int) -> bool:
    """A mover draws what it drew, but for the hosts."""
    if not book.limited:
        return True
    host_w = book.ledger.host_w
    more_w = other.held * (host_w[node] - host_w[other.pieces[0][0]])
    return more_w <= max(book.ledger.spare_w(node), 0.0)
