"""Who sits on which node with how much: shares are raised, lowered and taken back here."""

from dataclasses import dataclass

from policies.ledger import Ledger, RowPiece
from policies.synergy.appetite import Appetite, Share


@dataclass(slots=True, eq=False)
class Seat:
    """A job on its GPUs, now or from this round on."""

    row: int
    gpus: int
    appetite: Appetite
    pieces: list[RowPiece]

    @property
    def share(self) -> Share:
        """Per GPU; a job that another policy placed may have an uneven one, here rounded down."""
        cpus = sum(piece[2] for piece in self.pieces) // self.gpus
        return Share(cpus, sum(piece[3] for piece in self.pieces) // self.gpus)

    def at(self, share: Share) -> list[RowPiece]:
        """Over nodes, CPUs and memory in proportion to the GPUs."""
        return [
            (node, mask, share.cpus * mask.bit_count(), share.mem_mib * mask.bit_count())
            for node, mask, _, _ in self.pieces
        ]


class Book:
    """`cpus_within_reach` and its sibling count what is free and what could be taken back."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.on_node: dict[int, list[Seat]] = {}
        self.cpus_within_reach = ledger.cpus.copy()
        self.mem_within_reach = ledger.mem_mib.copy()

    def sit(self, seat: Seat) -> None:
        """Take up a job whose pieces the ledger has already given."""
        for node, mask, cpus, mem_mib in seat.pieces:
            self.on_node.setdefault(node, []).append(seat)
            gpus = mask.bit_count()
            self.cpus_within_reach[node] += max(cpus - seat.appetite.modest.cpus * gpus, 0)
            self.mem_within_reach[node] += max(mem_mib - seat.appetite.modest.mem_mib * gpus, 0)

    def take(self, seat: Seat) -> None:
        """Take up a job that is placed anew, after the ledger has given its pieces."""
        for node, _, cpus, mem_mib in seat.pieces:
            self.cpus_within_reach[node] -= cpus
            self.mem_within_reach[node] -= mem_mib
        self.sit(seat)

    def fits(self, seat: Seat, share: Share) -> bool:
        """Whether the job's nodes have enough left for it to have that share instead."""
        ledger = self.ledger
        return all(
            ledger.cpus[node] + cpus >= share.cpus * mask.bit_count()
            and ledger.mem_mib[node] + mem_mib >= share.mem_mib * mask.bit_count()
            for node, mask, cpus, mem_mib in seat.pieces
        )

    def change(self, seat: Seat, share: Share) -> None:
        """In reach stays what it was, as long as the share is not below the modest one."""
        ledger, modest, after = self.ledger, seat.appetite.modest, seat.at(share)
        for (node, mask, had_cpus, had_mem), (_, _, cpus, mem) in zip(
            seat.pieces, after, strict=True
        ):
            ledger.cpus[node] += had_cpus - cpus
            ledger.mem_mib[node] += had_mem - mem
            least_cpus, least_mem = (
                modest.cpus * mask.bit_count(),
                modest.mem_mib * mask.bit_count(),
            )
            self.cpus_within_reach[node] += min(had_cpus, least_cpus) - min(cpus, least_cpus)
            self.mem_within_reach[node] += min(had_mem, least_mem) - min(mem, least_mem)
        seat.pieces = after
        # A node that was too short for some ask may have enough now.
        ledger.epoch += 1

    def take_back(self, needed: dict[int, Share]) -> bool:
        """Lower residents, the largest first, until every node has what is needed, or nobody."""
        lowered: list[tuple[Seat, Share]] = []
        for node, need in needed.items():
            for seat in sorted(self.on_node.get(node, ()), key=_givers_first):
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


def _givers_first(seat: Seat) -> tuple[bool, int, int, int]:
    """On one server before spread ones, then the most CPUs, then the most memory, per GPU."""
    share = seat.share
    return len(seat.pieces) > 1, -share.cpus, -share.mem_mib, seat.row
