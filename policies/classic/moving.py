"""Room for a job on one node, made by moving running jobs to free GPUs of other nodes."""

from typing import NamedTuple

from policies.bench.bits import lowest_bits, members
from policies.bench.draft import PlanDraft
from policies.bench.free_index import FreeIndex
from policies.bench.ledger import Ask, RowPiece
from policies.bench.victims.cover import Missing, Victim, cheapest_cover, total_cost
from policies.bench.victims.table import Victims

# Nodes with the fewest GPUs missing come first; beyond these a cheaper set of moves is unlikely.
_MOST_NODES = 32


class _Clearing(NamedTuple):
    cost: float
    node: int
    moved: list[Victim]
    among: FreeIndex


class Moves:
    """A moved job keeps its number of GPUs and their type, and lies on one node before and after.

    As with a claim, the room is there only once the jobs have moved: until then the job waits, and
    what is free on its node is set aside.
    """

    def __init__(self, draft: PlanDraft, victims: Victims) -> None:
        self.draft = draft
        self.ledger = draft.ledger
        self.victims = victims

    def make_room(
        self, ask: Ask, tenant: int, types: tuple[int, ...], stopped: frozenset[int]
    ) -> list[int]:
        """Move the cheapest jobs but those already `stopped`, or nobody; returns who moves."""
        rooms = [
            room
            for gpu_type in types
            for index in ask.own[gpu_type]
            if index.free_among(-1) >= ask.gpus
            for room in self._rooms(index, ask, stopped)
        ]
        for room in sorted(rooms, key=lambda room: (room.cost, room.node)):
            targets = self._targets(room)
            if targets is not None:
                self._commit(room, targets, ask, tenant)
                return [victim.row for victim in room.moved]
        return []

    def _rooms(self, index: FreeIndex, ask: Ask, stopped: frozenset[int]) -> list[_Clearing]:
        ledger, rooms = self.ledger, []
        wide = [node for node in ledger.nodes_of((index,)) if ledger.gpus[node] >= ask.gpus]
        wide.sort(key=lambda node: (-ledger.free[node].bit_count(), node))
        for node in wide[:_MOST_NODES]:
            missing = Missing(
                ask.gpus - ledger.free[node].bit_count(),
                ask.cpus * ask.gpus - ledger.cpus[node],
                ask.mem_mib * ask.gpus - ledger.mem_mib[node],
            )
            movable = [
                victim
                for victim in self.victims.on_node(node)
                if victim.row not in stopped and self._on_one_node(victim.row)
            ]
            chosen = cheapest_cover(movable, missing)
            if chosen:
                rooms.append(_Clearing(total_cost(chosen), node, chosen, index))
        return rooms

    def _on_one_node(self, row: int) -> bool:
        offset = self.ledger.snapshot.placements.offset
        return bool(offset[row + 1] - offset[row] == 1)

    def _targets(self, room: _Clearing) -> list[RowPiece] | None:
        """Where the moved jobs go, taken from the ledger; None, with nothing taken, if nowhere."""
        taken: list[RowPiece] = []
        mark = self.draft.mark()
        for victim in sorted(room.moved, key=lambda victim: (-victim.gpus, victim.row)):
            node = self._tightest(room, victim)
            if node is None:
                self.draft.back(mark)
                return None
            mask = lowest_bits(self.ledger.free[node], victim.gpus)
            piece = (node, mask, victim.cpus, victim.mem_mib)
            self.ledger.take([piece])
            taken.append(piece)
        return taken

    def _tightest(self, room: _Clearing, victim: Victim) -> int | None:
        ledger = self.ledger
        for count in members(room.among.counts >> victim.gpus << victim.gpus):
            for node in members(room.among.by_count[count] & ~(1 << room.node)):
                more_w = victim.gpus * (ledger.host_w[node] - ledger.host_w[room.node])
                if (
                    ledger.cpus[node] >= victim.cpus
                    and ledger.mem_mib[node] >= victim.mem_mib
                    and more_w <= max(ledger.spare_w(node), 0.0)
                ):
                    return node
        return None

    def _commit(self, room: _Clearing, targets: list[RowPiece], ask: Ask, tenant: int) -> None:
        ordered = sorted(room.moved, key=lambda victim: (-victim.gpus, victim.row))
        for victim, piece in zip(ordered, targets, strict=True):
            self.victims.stop(victim.row)
            self.draft.move(victim.row, [piece])
        self.draft.keep_node(room.node, ask, tenant)
