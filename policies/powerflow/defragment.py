"""Room for one block, made by moving running jobs out of it when that delays them less."""

from collections.abc import Sequence
from typing import NamedTuple

from policies.bench.draft import PlanDraft
from policies.bench.ledger import RowPiece
from policies.powerflow.candidates import Candidate


class _Block(NamedTuple):
    cost_s: float
    node: int
    mask: int
    movers: list[Candidate]


def make_block(draft: PlanDraft, one: Candidate, movable: Sequence[Candidate]) -> bool:
    """Clear the cheapest block for a job, although only the next round can use it; or nothing.

    Jobs that move keep their GPU count and lie on one node before and after. A job larger than a
    node is helped to its last whole node.
    """
    ledger = draft.ledger
    nodes = ledger.nodes_of(one.ask(draft, one.gpus).own[one.place.kind])
    free = {node: ledger.free[node] for node in nodes}
    if sum(mask.bit_count() for mask in free.values()) < one.gpus - one.held:
        return False
    for node, mask, _, _ in one.pieces:
        free[node] = free.get(node, 0) | mask
    gpus = _missing(draft, free, one.gpus)
    if not gpus:
        return False
    worth_s = _worth_s(one, movable)
    there: dict[int, list[Candidate]] = {}
    for other in movable:
        if len(other.pieces) == 1 and other is not one:
            there.setdefault(other.pieces[0][0], []).append(other)
    blocks = [
        block
        for node in there
        for block in _blocks(ledger.gpus[node], node, free.get(node, 0), gpus, there[node])
        if block.cost_s < worth_s
    ]
    for block in sorted(blocks, key=lambda block: block[:3]):
        targets = _targets(draft, block)
        if targets is not None:
            for other, piece in zip(block.movers, targets, strict=True):
                draft.move(other.row, [piece])
            return True
    return False


def _missing(draft: PlanDraft, free: dict[int, int], gpus: int) -> int:
    """The size of the one block that is missing; 0 when more than one is."""
    widest = max((draft.ledger.gpus[node] for node in free), default=0)
    if gpus <= widest:
        return gpus
    whole = sum(
        mask.bit_count() == draft.ledger.gpus[node] == widest for node, mask in free.items()
    )
    return widest if (whole + 1) * widest == gpus else 0


def _worth_s(one: Candidate, others: Sequence[Candidate]) -> float:
    """Seconds a running job gains; a queued one its wait until the next job ends."""
    then_s = one.left_s(one.rung, one.clock)
    if one.running:
        now = one.ladder.rung_of(one.held)
        return one.left_s(now, one.clock) - then_s - one.cost_s if now >= 0 else 0.0
    ends_s = [
        other.left_s(rung, other.ladder.clock_of(rung, other.clock_mhz))
        for other in others
        if (rung := other.ladder.rung_of(other.held)) >= 0
    ]
    return min([then_s, *ends_s])


def _blocks(
    width: int, node: int, free: int, gpus: int, there: Sequence[Candidate]
) -> list[_Block]:
    """The aligned blocks of a node that are free but for jobs that may move."""
    size = 1 << (gpus - 1).bit_length()
    found = []
    for first in range(0, width - gpus + 1, size):
        mask = ((1 << gpus) - 1) << first
        movers = [other for other in there if other.pieces[0][1] & mask]
        held = 0
        for other in movers:
            held |= other.pieces[0][1]
        if movers and not mask & ~free & ~held:
            found.append(_Block(sum(other.cost_s for other in movers), node, mask, movers))
    return found


def _targets(draft: PlanDraft, block: _Block) -> list[RowPiece] | None:
    """Where the movers go, taken from the ledger; None, with nothing taken, if nowhere."""
    ledger = draft.ledger
    mark, aside = draft.mark(), (block.node, ledger.free[block.node], 0, 0)
    ledger.take([aside])
    taken: list[RowPiece] = []
    for other in block.movers:
        ask = other.ask(draft, other.held)
        pieces = ledger.strategy(ledger, ask, ask.own[other.place.kind])
        if pieces is None or len(pieces) > 1 or not _affordable(draft, other, pieces[0][0]):
            draft.back(mark)
            return None
        ledger.take(pieces)
        taken += pieces
    # The block stays aside for the job that it is for.
    ledger.give([(block.node, aside[1] & ~block.mask, 0, 0)])
    return taken


def _affordable(draft: PlanDraft, other: Candidate, node: int) -> bool:
    """A mover draws what it drew, but for the hosts."""
    if draft.ledger.watts_per_gpu is None:
        return True
    host_w = draft.ledger.host_w
    more_w = other.held * (host_w[node] - host_w[other.pieces[0][0]])
    return more_w <= max(draft.ledger.spare_w(node), 0.0)
