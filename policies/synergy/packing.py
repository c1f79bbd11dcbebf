"""How the runnable jobs get CPUs and memory with their GPUs: proportional, GREEDY, TUNE and OPT."""

from collections.abc import Sequence

from policies.bench.ledger import Ask, Indexes, Ledger, RowPiece, Strategy
from policies.bench.placement import pack, piece
from policies.bench.shares.needs import Share
from policies.bench.shares.packing import Newcomer, Packing, Tune
from policies.bench.shares.share_ledger import Holding, ShareLedger
from policies.contract.snapshot import Span
from policies.synergy.optimum import best_shares
from policies.synergy.parameters import PackingName


def first_fit(ledger: Ledger, ask: Ask, indexes: Indexes) -> list[RowPiece] | None:
    """The first node that fits, whatever else is on it; else as many as it takes, in order."""
    nodes = sorted(ledger.nodes_of(indexes))
    rooms = [ledger.room(node, ask) for node in nodes]
    for node, room in zip(nodes, rooms, strict=True):
        if room >= ask.gpus:
            return [piece(ledger, ask, node, ask.gpus)]
    if ask.span is not Span.ANY:
        return pack(ledger, ask, indexes)
    pieces, missing = [], ask.gpus
    for node, room in zip(nodes, rooms, strict=True):
        if room and missing:
            pieces.append(piece(ledger, ask, node, min(room, missing)))
            missing -= min(room, missing)
    return None if missing else pieces


class Proportional(Packing):
    """The baseline: every job gets its GPUs' part of CPUs and memory."""

    def shares(self, job: Newcomer) -> tuple[Share, ...]:
        return (job.needs.proportional,)

    def target(self, holding: Holding) -> Share:
        return holding.needs.proportional


class Greedy(Packing):
    """First fit of the demand; a job that does not fit is skipped, and GPUs may stay idle."""

    fills = False

    def shares(self, job: Newcomer) -> tuple[Share, ...]:
        return (job.needs.demand,)

    def target(self, holding: Holding) -> Share:
        return holding.needs.demand


class Opt(Tune):
    """TUNE towards the shares of a linear program over the whole cluster instead of the demands."""

    def __init__(
        self, book: ShareLedger, residents: Sequence[Holding], newcomers: Sequence[Newcomer]
    ) -> None:
        super().__init__(book, residents, newcomers)
        held = [(holding.row, holding.gpus, holding.needs, holding.share) for holding in residents]
        held += [(job.row, job.gpus, job.needs, job.needs.modest) for job in newcomers]
        pieces = [piece for holding in residents for piece in holding.pieces]
        cpus = sum(self.ledger.cpus) + sum(piece[2] for piece in pieces)
        mem_mib = sum(self.ledger.mem_mib) + sum(piece[3] for piece in pieces)
        self._targets, self.bound = best_shares(held, cpus, mem_mib)

    def shares(self, job: Newcomer) -> tuple[Share, ...]:
        wanted, modest = self._targets.get(job.row, job.needs.demand), job.needs.modest
        return (wanted,) if wanted == modest else (wanted, modest)

    def target(self, holding: Holding) -> Share:
        return self._targets.get(holding.row, holding.needs.modest)


PACKINGS: dict[PackingName, tuple[type[Packing], Strategy]] = {
    "proportional": (Proportional, pack),
    "greedy": (Greedy, first_fit),
    "tune": (Tune, pack),
    "opt": (Opt, pack),
}
