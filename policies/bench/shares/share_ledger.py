"""Who sits on which node with how much: shares are raised, lowered and taken back here."""

from dataclasses import dataclass

from policies.bench.ledger import Ledger, RowPiece
from policies.bench.shares.needs import Needs, Share


@dataclass(slots=True, eq=False)
class Holding:
    """A job on its GPUs, now or from this round on."""

    row: int
    gpus: int
    needs: Needs
    pieces: list[RowPiece]
    share: Share
    """Per GPU; a job that another policy placed may have an uneven one, here rounded down."""

    @classmethod
    def of(cls, row: int, needs: Needs, pieces: list[RowPiece]) -> "Holding":
        _, mask, cpus, mem_mib = pieces[0]
        gpus = mask.bit_count()
        for piece in pieces[1:]:
            gpus += piece[1].bit_count()
            cpus += piece[2]
            mem_mib += piece[3]
        return cls(row, gpus, needs, pieces, Share(cpus // gpus, mem_mib // gpus))

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

    def sit(self, holding: Holding) -> None:
        """Take up a resident: what it has beyond its modest share comes within reach."""
        for node, _, cpus, mem_mib in holding.pieces:
            self.cpus_within_reach[node] += cpus
            self.mem_within_reach[node] += mem_mib
        self.take(holding)

    def take(self, holding: Holding) -> None:
        """Take up a job that is placed anew, after the ledger has given its pieces."""
        for node, _, _, _ in holding.pieces:
            self.on_node[node].append(holding)
        self._reach(holding, 1)

    def leave(self, holding: Holding) -> None:
        """Let go of a job, after the ledger has got its pieces back; `take` is the way back."""
        for node, _, _, _ in holding.pieces:
            self.on_node[node].remove(holding)
        self._reach(holding, -1)

    def _reach(self, holding: Holding, sign: int) -> None:
        """What a job cannot be asked to give up is out of reach, or with `sign` -1 within it."""
        modest = holding.needs.modest
        for node, mask, cpus, mem_mib in holding.pieces:
            gpus = mask.bit_count()
            self.cpus_within_reach[node] -= sign * min(cpus, modest.cpus * gpus)
            self.mem_within_reach[node] -= sign * min(mem_mib, modest.mem_mib * gpus)

    def fits(self, holding: Holding, share: Share) -> bool:
        """Whether the job's nodes have enough left for it to have that share instead."""
        ledger = self.ledger
        return all(
            ledger.cpus[node] + cpus >= share.cpus * mask.bit_count()
            and ledger.mem_mib[node] + mem_mib >= share.mem_mib * mask.bit_count()
            for node, mask, cpus, mem_mib in holding.pieces
        )

    def change(self, holding: Holding, share: Share) -> None:
        """In reach stays what it was, as long as the share is not below the modest one."""
        self._charge(holding, -1)
        self._reach(holding, -1)
        holding.pieces, holding.share = holding.at(share), share
        self._charge(holding, 1)
        self._reach(holding, 1)

    def swap(self, holding: Holding, share: Share, other: Holding) -> None:
        """Each goes to the other's GPUs: the first to a new share, the second with its own."""
        ((home, mask, _, _),), ((there, its_mask, cpus, mem_mib),) = holding.pieces, other.pieces
        for leaving in (holding, other):
            self._charge(leaving, -1)
            self.leave(leaving)
        holding.pieces = [
            (there, its_mask, share.cpus * holding.gpus, share.mem_mib * holding.gpus)
        ]
        holding.share = share
        other.pieces = [(home, mask, cpus, mem_mib)]
        for arriving in (holding, other):
            self._charge(arriving, 1)
            self.take(arriving)

    def _charge(self, holding: Holding, sign: int) -> None:
        ledger = self.ledger
        for node, _, cpus, mem_mib in holding.pieces:
            ledger.cpus[node] -= sign * cpus
            ledger.mem_mib[node] -= sign * mem_mib
        # A node that was too short for some ask may have enough now.
        ledger.epoch += 1

    def take_back(self, needed: dict[int, Share]) -> bool:
        """Lower residents, the largest first, until every node has what is needed, or nobody."""
        lowered: list[tuple[Holding, Share]] = []
        for node, need in needed.items():
            for holding in sorted(self.on_node[node], key=_givers_first):
                if not self._short(node, need):
                    break
                modest, had = holding.needs.modest, holding.share
                if not had.within(modest) and self.fits(holding, modest):
                    lowered.append((holding, had))
                    self.change(holding, modest)
        if not any(self._short(node, need) for node, need in needed.items()):
            return True
        for holding, had in reversed(lowered):
            self.change(holding, had)
        return False

    def _short(self, node: int, need: Share) -> bool:
        return self.ledger.cpus[node] < need.cpus or self.ledger.mem_mib[node] < need.mem_mib


def _givers_first(holding: Holding) -> tuple[bool, int, int, int]:
    """On one server before spread ones, then the most CPUs, then the most memory, per GPU."""
    share = holding.share
    return len(holding.pieces) > 1, -share.cpus, -share.mem_mib, holding.row
