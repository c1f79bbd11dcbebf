"""Who sits on which node with how much: shares are raised, lowered and taken back here."""

from dataclasses import dataclass

from policies.bench.ledger import Ledger, RowPiece
from policies.bench.shares.needs import Needs, Share


@dataclass(slots=True, eq=False)
class Holding:
    """A job on its GPUs, now or from this round on."""

    row: int
    gpus: int
    appetite: Needs
    pieces: list[RowPiece]
    share: Share
    """Per GPU; a job that another policy placed may have an uneven one, here rounded down."""

    @classmethod
    def of(cls, row: int, appetite: Needs, pieces: list[RowPiece]) -> "Holding":
        _, mask, cpus, mem_mib = pieces[0]
        gpus = mask.bit_count()
        for piece in pieces[1:]:
            gpus += piece[1].bit_count()
            cpus += piece[2]
            mem_mib += piece[3]
        return cls(row, gpus, appetite, pieces, Share(cpus // gpus, mem_mib // gpus))

    def at(self, share: Share) -> list[RowPiece]:
        """Over nodes, CPUs and memory in proportion to the GPUs."""
        return [
            (node, mask, share.cpus * mask.bit_count(), share.mem_mib * mask.bit_count())
            for node, mask, _, _ in self.pieces
        ]


class ShareLedger:
    """`cpus_within_reach` and its sibling count what is free and what could be taken back."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.on_node: list[list[Holding]] = [[] for _ in ledger.free]
        self.cpus_within_reach = ledger.cpus.copy()
        self.mem_within_reach = ledger.mem_mib.copy()

    def sit(self, seat: Holding) -> None:
        """Take up a job whose pieces the ledger has already given."""
        for node, mask, cpus, mem_mib in seat.pieces:
            self.on_node[node].append(seat)
            gpus, modest = mask.bit_count(), seat.appetite.modest
            if cpus > modest.cpus * gpus:
                self.cpus_within_reach[node] += cpus - modest.cpus * gpus
            if mem_mib > modest.mem_mib * gpus:
                self.mem_within_reach[node] += mem_mib - modest.mem_mib * gpus

    def take(self, seat: Holding) -> None:
        """Take up a job that is placed anew, after the ledger has given its pieces."""
        for node, _, cpus, mem_mib in seat.pieces:
            self.cpus_within_reach[node] -= cpus
            self.mem_within_reach[node] -= mem_mib
        self.sit(seat)

    def leave(self, seat: Holding) -> None:
        """Let go of a job, after the ledger has got its pieces back; `take` is the way back."""
        modest = seat.appetite.modest
        for node, mask, cpus, mem_mib in seat.pieces:
            self.on_node[node].remove(seat)
            gpus = mask.bit_count()
            self.cpus_within_reach[node] += min(cpus, modest.cpus * gpus)
            self.mem_within_reach[node] += min(mem_mib, modest.mem_mib * gpus)

    def fits(self, seat: Holding, share: Share) -> bool:
        """Whether the job's nodes have enough left for it to have that share instead."""
        ledger = self.ledger
        return all(
            ledger.cpus[node] + cpus >= share.cpus * mask.bit_count()
            and ledger.mem_mib[node] + mem_mib >= share.mem_mib * mask.bit_count()
            for node, mask, cpus, mem_mib in seat.pieces
        )

    def change(self, seat: Holding, share: Share) -> None:
        """In reach stays what it was, as long as the share is not below the modest one."""
        self._count(seat, -1)
        seat.pieces, seat.share = seat.at(share), share
        self._count(seat, 1)

    def swap(self, seat: Holding, share: Share, other: Holding) -> None:
        """Each goes to the other's GPUs: the first to a new share, the second with its own."""
        ((home, mask, _, _),), ((there, its_mask, cpus, mem_mib),) = seat.pieces, other.pieces
        for leaving in (seat, other):
            self._count(leaving, -1)
            self.on_node[leaving.pieces[0][0]].remove(leaving)
        seat.pieces = [(there, its_mask, share.cpus * seat.gpus, share.mem_mib * seat.gpus)]
        seat.share = share
        other.pieces = [(home, mask, cpus, mem_mib)]
        for arriving in (seat, other):
            self._count(arriving, 1)
            self.on_node[arriving.pieces[0][0]].append(arriving)

    def _count(self, seat: Holding, sign: int) -> None:
        ledger, modest = self.ledger, seat.appetite.modest
        for node, mask, cpus, mem_mib in seat.pieces:
            ledger.cpus[node] -= sign * cpus
            ledger.mem_mib[node] -= sign * mem_mib
            gpus = mask.bit_count()
            self.cpus_within_reach[node] -= sign * min(cpus, modest.cpus * gpus)
            self.mem_within_reach[node] -= sign * min(mem_mib, modest.mem_mib * gpus)
        # A node that was too short for some ask may have enough now.
        ledger.epoch += 1

    def take_back(self, needed: dict[int, Share]) -> bool:
        """Lower residents, the largest first, until every node has what is needed, or nobody."""
        lowered: list[tuple[Holding, Share]] = []
        for node, need in needed.items():
            for seat in sorted(self.on_node[node], key=_givers_first):
                if not self._short(node, need):
                    break
                modest, had = seat.appetite.modest, seat.share
                if not had.within(modest) and self.fits(seat, modest):
                    lowered.append((seat, had))
                    self.change(seat, modest)
        if not any(self._short(node, need) for node, need in needed.items()):
            return True
        for seat, had in reversed(lowered):
            self.change(seat, had)
        return False

    def _short(self, node: int, need: Share) -> bool:
        return self.ledger.cpus[node] < need.cpus or self.ledger.mem_mib[node] < need.mem_mib


def _givers_first(seat: Holding) -> tuple[bool, int, int, int]:
    """On one server before spread ones, then the most CPUs, then the most memory, per GPU."""
    share = seat.share
    return len(seat.pieces) > 1, -share.cpus, -share.mem_mib, seat.row
