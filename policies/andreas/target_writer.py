"""From a target to the entries of a plan that may be carried out now.

Where GPUs change hands at once (`hands_over`), the target is the plan. Elsewhere what a job gives
up is free only once it has stopped: entries that fit into what is free are taken, a queued job that
does not fit yet waits for those that leave its node, and other changes wait for a later round.
"""

from typing import NamedTuple

import numpy as np

from policies.andreas.target import HeldPiece, Place, Target
from policies.bench.bits import lowest_bits
from policies.bench.ledger import Ledger, RowPiece
from policies.bench.power import watts_at
from policies.bench.victims.table import lost_s
from policies.contract.plan import Move, Placing, Preempt, Resize, Start
from policies.contract.plan_columns import pieces_of
from policies.contract.snapshot import UNLIMITED, Snapshot


class Entries(NamedTuple):
    """Pieces by job row, of what starts or changes; jobs stopped, by whom for; who waits for it."""

    placed: dict[int, list[RowPiece]]
    preempted: dict[int, int]
    claimed: set[int]


class TargetWriter:
    """`held` are the running jobs that the target may change; `order` is by pressure."""

    def __init__(self, ledger: Ledger, held: dict[int, HeldPiece], order: list[int]) -> None:
        self.ledger = ledger
        self.snapshot: Snapshot = ledger.snapshot
        self.held = held
        self.order = order
        jobs = self.snapshot.jobs
        self.tenant: list[int] = jobs.tenant.tolist()
        self.cpus: list[int] = jobs.cpus_per_gpu.tolist()
        self.mem_mib: list[int] = jobs.mem_mib_per_gpu.tolist()
        self.entries = Entries({}, {}, set())

    def write(self, target: Target) -> Entries:
        changed = {row for row, held in self.held.items() if not _stays(held, target.get(row))}
        if self.snapshot.hands_over:
            self._hand_over(target, changed)
        else:
            self._step(target, changed)
        return self.entries

    def _hand_over(self, target: Target, changed: set[int]) -> None:
        for row in sorted(changed):
            self._give_back(row)
        for row in self.order:
            place = target.get(row)
            if place is None or (row in self.held and row not in changed):
                continue
            # Budgets of partitions, and watts by count, are finer than the search sees.
            if self._fits(row, place):
                self._place(row, place)
        for row in sorted(changed - self.entries.placed.keys()):
            self.entries.preempted[row] = self._successor(self.held[row])

    def _successor(self, held: HeldPiece) -> int:
        """Who takes a GPU of a stopped job; the first job that is placed if nobody does."""
        placed = self.entries.placed
        takers = (
            row
            for row, pieces in placed.items()
            if any(piece[0] == held.node and piece[1] & held.mask for piece in pieces)
        )
        return next(takers, next(iter(placed), -1))

    def _step(self, target: Target, changed: set[int]) -> None:
        leaving: dict[int, list[int]] = {}
        for row in sorted(changed):
            leaving.setdefault(self.held[row].node, []).append(row)
        for row in self.order:
            place = target.get(row)
            if place is None or (row in self.held and row not in changed):
                continue
            if row in self.entries.preempted:
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
        more_w = self._watts(row, place.node, place.gpus) - self._watts_now(row, held)
        spare_w = max(self.ledger.spare_w(place.node), 0.0)
        if more_w > spare_w or (more > 0 and not self._has_room(row, place._replace(gpus=more))):
            return
        piece = self._piece(row, place, own=held.mask)
        if more > 0:
            grown = (piece[1] & ~held.mask, self.cpus[row] * more, self.mem_mib[row] * more)
            self.ledger.take([(place.node, *grown)])
            self.ledger.charge(self.tenant[row], self.ledger.gpu_type[place.node], more)
        self.ledger.draw(place.node, max(more_w, 0.0))
        self.entries.placed[row] = [piece]

    def _claim(self, row: int, place: Place, leaving: list[int]) -> None:
        """Stop those that leave the node until the job has room, and keep what is free for it."""
        ledger, node = self.ledger, place.node
        free = ledger.free[node]
        missing = place.gpus - free.bit_count()
        placed = self.entries.placed
        victims = []
        for one in leaving:
            if missing <= 0:
                break
            if one in placed or one in self.entries.preempted:
                continue
            victims.append(one)
            missing -= self.held[one].mask.bit_count()
        if missing > 0 or not victims or not self._within_quota(row, place):
            return
        for one in victims:
            self.entries.preempted[one] = row
        self.entries.claimed.add(row)
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
        self.entries.placed[row] = [piece]

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

    def _give_back(self, row: int) -> None:
        held = self.held[row]
        gpus = held.mask.bit_count()
        self.ledger.give([(held.node, held.mask, held.cpus, held.mem_mib)])
        self.ledger.charge(self.tenant[row], self.ledger.gpu_type[held.node], -gpus)
        self.ledger.draw(held.node, -self._watts_now(row, held))

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
        ledger, tenant, kind = self.ledger, self.tenant[row], self.ledger.gpu_type[place.node]
        quota, by_type = ledger.quota[tenant], ledger.quota_by_type[tenant][kind]
        used, used_of_type = ledger.used[tenant], ledger.used_by_type[tenant][kind]
        return (quota == UNLIMITED or used + place.gpus <= quota) and (
            by_type == UNLIMITED or used_of_type + place.gpus <= by_type
        )

    def _watts(self, row: int, node: int, gpus: int) -> float:
        """What the power budgets count of so many GPUs; 0 without a budget."""
        if self.ledger.watts_per_gpu is None:
            return 0.0
        each = watts_at(self.snapshot, np.array([row]), np.array([gpus]), np.zeros(1, np.int64))
        return self._above_idle(float(each[0, self.ledger.gpu_type[node]]), node, gpus)

    def _watts_now(self, row: int, held: HeldPiece) -> float:
        if self.ledger.watts_per_gpu is None:
            return 0.0
        each = float(self.ledger.watts_per_gpu[row, self.ledger.gpu_type[held.node]])
        return self._above_idle(each, held.node, held.mask.bit_count())

    def _above_idle(self, gpu_w: float, node: int, gpus: int) -> float:
        ledger = self.ledger
        return gpus * (gpu_w - ledger.idle_w[ledger.gpu_type[node]] + ledger.host_w[node])


def _stays(held: HeldPiece, place: Place | None) -> bool:
    return place is not None and (place.node, place.gpus) == (held.node, held.mask.bit_count())


class Acts(NamedTuple):
    starts: tuple[Start, ...]
    moves: tuple[Move, ...]
    resizes: tuple[Resize, ...]
    preempts: tuple[Preempt, ...]


def acts_of(snapshot: Snapshot, entries: Entries, held: dict[int, HeldPiece]) -> Acts:
    ids, node_ids = snapshot.jobs.id, snapshot.nodes.id

    def written(kind: type[Placing], row: int, pieces: list[RowPiece]) -> Placing:
        return kind(int(ids[row]), pieces_of(node_ids, pieces))

    kinds: dict[type[Placing], list[Placing]] = {Start: [], Move: [], Resize: []}
    for row, pieces in entries.placed.items():
        kind = _kind(held.get(row), pieces[0])
        kinds[kind].append(written(kind, row, pieces))
    lost = lost_s(snapshot) if entries.preempted else None
    preempts = tuple(
        Preempt(
            int(ids[row]),
            int(ids[taker if taker >= 0 else row]),
            0.0 if lost is None else float(lost[row]) * held[row].mask.bit_count(),
        )
        for row, taker in entries.preempted.items()
    )
    return Acts(
        tuple(kinds[Start]),  # type: ignore[arg-type]  # by kind, which mypy does not follow
        tuple(kinds[Move]),  # type: ignore[arg-type]
        tuple(kinds[Resize]),  # type: ignore[arg-type]
        preempts,
    )


def _kind(held: HeldPiece | None, piece: RowPiece) -> type[Placing]:
    if held is None:
        return Start
    same_size = held.mask.bit_count() == piece[1].bit_count()
    return Move if same_size and held.node != piece[0] else Resize
