"""From a target to the entries of a plan that may be carried out now.

Where GPUs change hands at once (`hands_over`), the target is the plan. Elsewhere what a job gives
up is free only once it has stopped: entries that fit into what is free are taken, a queued job that
does not fit yet waits for those that leave its node, and other changes wait for a later round.
"""

import numpy as np

from policies.andreas.target import Held, Place, Target
from policies.bench.bits import lowest_bits
from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ask, RowPiece, overlap
from policies.bench.power import watts_at
from policies.contract.plan import Move, Placing, Resize, Start


class TargetWriter:
    """`held` are the running jobs that the target may change; `order` is by pressure."""

    def __init__(self, draft: PlanDraft, held: Held, order: list[int]) -> None:
        self.draft = draft
        self.ledger = draft.ledger
        self.held = held
        self.order = order
        self.partition: list[int] = draft.snapshot.jobs.partition.tolist()

    def write(self, target: Target) -> None:
        changed = [row for row, held in self.held.items() if not _stays(held, target.get(row))]
        changed.sort()
        staying = self.held.keys() - changed
        places = [(row, target[row]) for row in self.order if row in target and row not in staying]
        if self.draft.snapshot.hands_over:
            self._hand_over(places, changed)
        else:
            self._step(places, changed)

    def _hand_over(self, places: list[tuple[int, Place]], changed: list[int]) -> None:
        for row in changed:
            self.draft.lift(row)
        for row, place in places:
            # Budgets of partitions, and watts by count, are finer than the search sees.
            self._try_place(row, place)
        for row in changed:
            if row not in self.draft.placed:
                self.draft.preempt(row, self._successor(row))

    def _successor(self, stopped: int) -> int:
        """Who takes a GPU of a stopped job; the first job that is placed if nobody does."""
        placed, held = self.draft.placed, self.draft.held(stopped)
        takers = (row for row, written in placed.items() if overlap(written.pieces, held))
        return next(takers, next(iter(placed), stopped))

    def _step(self, places: list[tuple[int, Place]], changed: list[int]) -> None:
        leaving: dict[int, list[int]] = {}
        for row in changed:
            leaving.setdefault(self.held[row][0], []).append(row)
        for row, place in places:
            held = self.held.get(row)
            if row in self.draft.preempted:
                continue
            if held is not None and held[0] == place.node:
                self._resize(row, held, place)
            elif not self._try_place(row, place) and held is None:
                self._claim(row, place, leaving.get(place.node, []))

    def _resize(self, row: int, held: RowPiece, place: Place) -> None:
        """On its own node a job keeps what it can of its GPUs."""
        ledger, ask, node = self.ledger, self._ask(row, place), place.node
        more = place.gpus - held[1].bit_count()
        more_w = ledger.watts_of(ask, node, place.gpus) - sum(self.draft.held_w(row))
        if more_w > max(ledger.spare_w(node), 0.0):
            return
        if more > 0 and not (ledger.room(node, ask) >= more and self._within_quota(row, ask, more)):
            return
        piece = self._piece(ask, node, own=held[1])
        if more > 0:
            ledger.take([(node, piece[1] & ~held[1], ask.cpus * more, ask.mem_mib * more)])
            ledger.charge(self.draft.tenant(row), ledger.gpu_type[node], more)
        ledger.draw(node, more_w)
        self.draft.write(_kind(held, piece), row, [piece])

    def _claim(self, row: int, place: Place, leaving: list[int]) -> None:
        """Stop those that leave the node until the job has room, and keep what is free for it."""
        ask = self._ask(row, place)
        missing = ask.gpus - self.ledger.free[place.node].bit_count()
        victims = []
        for one in leaving:
            if missing > 0 and not self.draft.acted(one):
                victims.append(one)
                missing -= self.held[one][1].bit_count()
        if missing > 0 or not victims or not self._within_quota(row, ask, ask.gpus):
            return
        for one in victims:
            self.draft.preempt(one, row)
        self.draft.reserved.append(row)
        self.draft.keep_node(place.node, ask, self.draft.tenant(row))

    def _try_place(self, row: int, place: Place) -> bool:
        ledger, node, ask = self.ledger, place.node, self._ask(row, place)
        if ledger.room(node, ask) < ask.gpus or not self._within_quota(row, ask, ask.gpus):
            return False
        held, own = self.held.get(row), 0
        if held is not None and held[0] == node:
            own = held[1] & ledger.free[node]
        piece = self._piece(ask, node, own=own)
        if ledger.try_take(ask, self.draft.tenant(row), ledger.gpu_type[node], [piece]) is None:
            return False
        self.draft.write(_kind(held, piece), row, [piece])
        return True

    def _piece(self, ask: Ask, node: int, *, own: int) -> RowPiece:
        mask = lowest_bits(own, min(ask.gpus, own.bit_count()))
        mask |= lowest_bits(self.ledger.free[node] & ~mask, ask.gpus - mask.bit_count())
        return node, mask, ask.cpus * ask.gpus, ask.mem_mib * ask.gpus

    def _within_quota(self, row: int, ask: Ask, gpus: int) -> bool:
        return self.ledger.within_quota(self.draft.tenant(row), ask.types[0], gpus)

    def _ask(self, row: int, place: Place) -> Ask:
        """What the job needs at its place; its watts depend on how many GPUs it has."""
        kind, gpu_w = self.ledger.gpu_type[place.node], None
        if self.ledger.watts_per_gpu is not None:
            at = np.array([row]), np.array([place.gpus]), np.zeros(1, np.int64)
            gpu_w = float(watts_at(self.draft.snapshot, *at)[0, kind])
        return self.draft.ask(row, self.partition[row], kind, place.gpus, gpu_w)


def _stays(held: RowPiece, place: Place | None) -> bool:
    return place is not None and (place.node, place.gpus) == (held[0], held[1].bit_count())


def _kind(held: RowPiece | None, piece: RowPiece) -> type[Placing]:
    if held is None:
        return Start
    same_size = held[1].bit_count() == piece[1].bit_count()
    return Move if same_size and held[0] != piece[0] else Resize
