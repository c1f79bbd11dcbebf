"""From a target to the entries of a plan that may be carried out now.

Where GPUs change hands at once (`hands_over`), the target is the plan. Elsewhere what a job gives
up is free only once it has stopped: entries that fit into what is free are taken, a queued job that
does not fit yet waits for those that leave its node, and other changes wait for a later round.
"""

import numpy as np

from policies.andreas.target import HeldPiece, Place, Target
from policies.bench.bits import lowest_bits
from policies.bench.draft import PlanDraft
from policies.bench.ledger import RowPiece, overlap
from policies.bench.power import watts_at
from policies.contract.plan import Move, Placing, Resize, Start
from policies.contract.snapshot import Snapshot


class TargetWriter:
    """`held` are the running jobs that the target may change; `order` is by pressure."""

    def __init__(self, draft: PlanDraft, held: dict[int, HeldPiece], order: list[int]) -> None:
        self.draft = draft
        self.ledger = draft.ledger
        self.snapshot: Snapshot = draft.snapshot
        self.held = held
        self.order = order
        jobs = self.snapshot.jobs
        self.tenant: list[int] = jobs.tenant.tolist()
        self.cpus: list[int] = jobs.cpus_per_gpu.tolist()
        self.mem_mib: list[int] = jobs.mem_mib_per_gpu.tolist()

    def write(self, target: Target) -> None:
        changed = {row for row, held in self.held.items() if not _stays(held, target.get(row))}
        if self.snapshot.hands_over:
            self._hand_over(target, changed)
        else:
            self._step(target, changed)

    def _hand_over(self, target: Target, changed: set[int]) -> None:
        for row in sorted(changed):
            self.draft.lift(row)
        for row in self.order:
            place = target.get(row)
            if place is None or (row in self.held and row not in changed):
                continue
            # Budgets of partitions, and watts by count, are finer than the search sees.
            if self._fits(row, place):
                self._place(row, place)
        for row in sorted(changed - self.draft.placed.keys()):
            self.draft.preempt(row, self._successor(row))

    def _successor(self, stopped: int) -> int:
        """Who takes a GPU of a stopped job; the first job that is placed if nobody does."""
        placed, held = self.draft.placed, self.draft.held(stopped)
        takers = (row for row, written in placed.items() if overlap(written.pieces, held))
        return next(takers, next(iter(placed), stopped))

    def _step(self, target: Target, changed: set[int]) -> None:
        leaving: dict[int, list[int]] = {}
        for row in sorted(changed):
            leaving.setdefault(self.held[row].node, []).append(row)
        for row in self.order:
            place = target.get(row)
            if place is None or (row in self.held and row not in changed):
                continue
            if row in self.draft.preempted:
                continue
            held = self.held.get(row)
            if held is not None and held.node == place.node:
                self._resize(row, held, place)
            elif self._fits(row, place):
                self._place(row, place)
            elif held is None:
                self._claim(row, place, leaving.get(place.node, []))

    def _resize(self, row: int, held: HeldPiece, place: Place) -> None:
        """On its own node a job keeps what it can of its GPUs."""
        more = place.gpus - held.mask.bit_count()
        more_w = self._watts(row, place.node, place.gpus) - sum(self.draft.held_w(row))
        spare_w = max(self.ledger.spare_w(place.node), 0.0)
        if more_w > spare_w or (more > 0 and not self._has_room(row, place._replace(gpus=more))):
            return
        piece = self._piece(row, place, own=held.mask)
        if more > 0:
            grown = (piece[1] & ~held.mask, self.cpus[row] * more, self.mem_mib[row] * more)
            self.ledger.take([(place.node, *grown)])
            self.ledger.charge(self.tenant[row], self.ledger.gpu_type[place.node], more)
        self.ledger.draw(place.node, max(more_w, 0.0))
        self.draft.write(_kind(held, piece), row, [piece])

    def _claim(self, row: int, place: Place, leaving: list[int]) -> None:
        """Stop those that leave the node until the job has room, and keep what is free for it."""
        ledger, node = self.ledger, place.node
        free = ledger.free[node]
        missing = place.gpus - free.bit_count()
        victims = []
        for one in leaving:
            if missing <= 0:
                break
            if self.draft.acted(one):
                continue
            victims.append(one)
            missing -= self.held[one].mask.bit_count()
        if missing > 0 or not victims or not self._within_quota(row, place):
            return
        for one in victims:
            self.draft.preempt(one, row)
        self.draft.reserved.append(row)
        aside = lowest_bits(free, min(place.gpus, free.bit_count()))
        cpus = min(self.cpus[row] * place.gpus, ledger.cpus[node])
        ledger.take(
            [(node, aside, cpus, min(self.mem_mib[row] * place.gpus, ledger.mem_mib[node]))]
        )
        ledger.charge(self.tenant[row], ledger.gpu_type[node], place.gpus)

    def _place(self, row: int, place: Place) -> None:
        held = self.held.get(row)
        own = 0
        if held is not None and held.node == place.node:
            own = held.mask & self.ledger.free[place.node]
        piece = self._piece(row, place, own=own)
        self._take(row, piece)
        self.draft.write(_kind(held, piece), row, [piece])

    def _piece(self, row: int, place: Place, *, own: int) -> RowPiece:
        free = self.ledger.free[place.node]
        mask = lowest_bits(own, min(place.gpus, own.bit_count()))
        mask |= lowest_bits(free & ~mask, place.gpus - mask.bit_count())
        return place.node, mask, self.cpus[row] * place.gpus, self.mem_mib[row] * place.gpus

    def _take(self, row: int, piece: RowPiece) -> None:
        node, mask, _, _ = piece
        self.ledger.take([piece])
        self.ledger.charge(self.tenant[row], self.ledger.gpu_type[node], mask.bit_count())
        self.ledger.draw(node, self._watts(row, node, mask.bit_count()))

    def _fits(self, row: int, place: Place) -> bool:
        watts = self._watts(row, place.node, place.gpus)
        return watts <= self.ledger.spare_w(place.node) and self._has_room(row, place)

    def _has_room(self, row: int, place: Place) -> bool:
        ledger, node = self.ledger, place.node
        return (
            ledger.free[node].bit_count() >= place.gpus
            and ledger.cpus[node] >= self.cpus[row] * place.gpus
            and ledger.mem_mib[node] >= self.mem_mib[row] * place.gpus
            and self._within_quota(row, place)
        )

    def _within_quota(self, row: int, place: Place) -> bool:
        kind = self.ledger.gpu_type[place.node]
        return self.ledger.within_quota(self.tenant[row], kind, place.gpus)

    def _watts(self, row: int, node: int, gpus: int) -> float:
        """What the power budgets count of so many GPUs; 0 without a budget."""
        if self.ledger.watts_per_gpu is None:
            return 0.0
        each = watts_at(self.snapshot, np.array([row]), np.array([gpus]), np.zeros(1, np.int64))
        gpu_w = float(each[0, self.ledger.gpu_type[node]])
        return self.ledger.added_w(node, gpus, gpu_w)


def _stays(held: HeldPiece, place: Place | None) -> bool:
    return place is not None and (place.node, place.gpus) == (held.node, held.mask.bit_count())


def _kind(held: HeldPiece | None, piece: RowPiece) -> type[Placing]:
    if held is None:
        return Start
    same_size = held.mask.bit_count() == piece[1].bit_count()
    return Move if same_size and held.node != piece[0] else Resize
