"""A plan in the making: each change is written down, taken from the ledger, and can be undone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import numpy as np

from policies.bench.bits import lowest_bits
from policies.bench.ledger import Ask, Ledger, RowPiece, gpus_of
from policies.bench.node_power import SleepRules, nodes_to_wake
from policies.bench.power import held_gpus, node_idle_w
from policies.bench.reach import Shape
from policies.bench.reservations import Reservations
from policies.bench.roster import in_turn, lost_s, waiting
from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import (
    Expected,
    Explained,
    Move,
    Piece,
    Placing,
    Plan,
    PowerNode,
    Preempt,
    Resize,
    Retune,
    SetClock,
    Start,
)
from policies.contract.snapshot import NodeState
from policies.explain.waiting import explain, left_waiting

# Watts are sums of floats in another order than the checks'.
SLACK_W = 1e-6

Entry = TypeVar("Entry", Start, Move, Resize, Retune)


class Written(msgspec.Struct, frozen=True, gc=False):
    """What a job is to have; its entry is of that kind."""

    kind: type[Placing] | type[Retune]
    pieces: Sequence[RowPiece]
    clock_mhz: int


DraftMark = tuple[int, ...]
"""How far a draft had come: the ledger's journal, and every kind of change."""


class PlanDraft:
    """Jobs and nodes are rows of the snapshot; a job gets one entry.

    What a resized, moved or stopped job leaves is free only in a later round, unless its family
    says otherwise by lifting it first.
    """

    def __init__(self, ledger: Ledger, reservations: Reservations | None = None) -> None:
        """With `reservations` the ledger's snapshot is what these let a policy see."""
        self.ledger = ledger
        self.snapshot = ledger.snapshot
        self._reservations = reservations or Reservations(self.snapshot, self.snapshot)
        self.placed: dict[int, Written] = {}
        self.clocks: dict[int, int] = {}
        self.preempted: dict[int, int] = {}
        """Jobs that are stopped, and for whom."""
        self.reserved: list[int] = []
        """Jobs that start once others have given up their GPUs."""
        self.switched: dict[int, bool] = {}

    def acted(self, row: int) -> bool:
        """Whether the job has its entry."""
        return row in self.placed or row in self.clocks or row in self.preempted

    # What jobs have and could have.

    @cached_property
    def _jobs(self) -> list[tuple[int, int, int, int]]:
        """Tenant, CPUs and memory per GPU, and span, to be read row by row."""
        jobs = self.snapshot.jobs
        columns = (jobs.tenant, jobs.cpus_per_gpu, jobs.mem_mib_per_gpu, jobs.span)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @cached_property
    def _ids(self) -> tuple[list[int], list[int]]:
        """Of jobs and nodes, by row."""
        return self.snapshot.jobs.id.tolist(), self.snapshot.nodes.id.tolist()

    @cached_property
    def _idle_w(self) -> list[float]:
        idle_w: list[float] = node_idle_w(self.snapshot).tolist()
        return idle_w

    @cached_property
    def _lost_gpu_s(self) -> list[float]:
        lost: list[float] = (lost_s(self.snapshot) * held_gpus(self.snapshot)).tolist()
        return lost

    def tenant(self, row: int) -> int:
        return self._jobs[row][0]

    def held(self, row: int) -> list[RowPiece]:
        return self.ledger.held(row)

    def held_w(self, row: int, held: Sequence[RowPiece] | None = None) -> list[float]:
        """What a running job adds now, piece by piece; 0 without a budget."""
        pieces, table = self.held(row) if held is None else held, self.ledger.watts_per_gpu
        if table is None or not pieces:
            return [0.0] * len(pieces)
        gpu_w = float(table[row, self.ledger.gpu_type[pieces[0][0]]])
        return self.added_w(pieces, gpu_w)

    def added_w(self, pieces: Sequence[RowPiece], gpu_w: float) -> list[float]:
        """What GPUs of so many watts add, piece by piece; 0 without a budget."""
        ledger = self.ledger
        if ledger.watts_per_gpu is None:
            return [0.0] * len(pieces)
        return [ledger.added_w(node, mask.bit_count(), gpu_w) for node, mask, _, _ in pieces]

    def ask(
        self, row: int, partition: int, gpu_type: int, gpus: int, gpu_w: float | None = None
    ) -> Ask:
        """What a job needs for so many GPUs of a type; without `gpu_w` watts are not looked at."""
        _, cpus, mem_mib, span = self._jobs[row]
        shape = Shape(partition, 1 << gpu_type, gpus, cpus, mem_mib, span, False, -1)
        ask = self.ledger.ask(shape, like_job=row)
        counted = self.ledger.watts_per_gpu is not None and gpu_w is not None
        ask.watts = [gpu_w or 0.0] * len(self.ledger.idle_w) if counted else []
        return ask

    # Changes.

    def start(self, row: int, ask: Ask, clock_mhz: int = 0) -> bool:
        """Start a queued job where the ledger finds room, within its tenant's quotas."""
        tenant = self.tenant(row)
        types = self.ledger.types_within_quota(tenant, ask)
        hold = self.ledger.try_place(ask, tenant, types)
        if hold is None:
            return False
        self.write(Start, row, hold.pieces, clock_mhz)
        return True

    def write(
        self,
        kind: type[Placing] | type[Retune],
        row: int,
        pieces: Sequence[RowPiece],
        clock_mhz: int = 0,
    ) -> None:
        """Only the entry: the pieces are taken already. Written again, a job keeps its turn."""
        self.placed[row] = Written(kind, pieces, clock_mhz)

    def move(self, row: int, pieces: Sequence[RowPiece]) -> None:
        """Onto `pieces`, taken already, as it is: it draws what it drew, but for the hosts."""
        host_w = self.ledger.host_w
        for signed, moved in ((-1, self.held(row)), (1, pieces)):
            for node, mask, _, _ in moved:
                self.ledger.draw(node, signed * mask.bit_count() * host_w[node])
        self.write(Move, row, pieces, int(self.snapshot.jobs.clock_mhz[row]))

    def resize(self, row: int, pieces: Sequence[RowPiece], gpu_w: float, clock_mhz: int) -> None:
        """Onto `pieces`, taken already, apart from its own GPUs."""
        held = self.held(row)
        for piece, watts in zip(held, self.held_w(row), strict=True):
            self.ledger.draw(piece[0], -watts)
        for piece, watts in zip(pieces, self.added_w(pieces, gpu_w), strict=True):
            self.ledger.draw(piece[0], watts)
        kind = self.ledger.gpu_type[held[0][0]]
        self.ledger.charge(self.tenant(row), kind, gpus_of(pieces) - gpus_of(held))
        self.write(Resize, row, pieces, clock_mhz)

    def set_clock(self, row: int, gpu_w: float, clock_mhz: int, slack_w: float = 0.0) -> bool:
        """Change the clock in place, unless that draws more watts than are left."""
        ledger, held = self.ledger, self.held(row)
        if ledger.watts_per_gpu is not None:
            then, now = self.added_w(held, gpu_w), self.held_w(row)
            more = [after - before for after, before in zip(then, now, strict=True)]
            spare_w = min(ledger.spare_w(piece[0]) for piece in held)
            if sum(more) > max(spare_w - slack_w, 0.0):
                return False
            for piece, watts in zip(held, more, strict=True):
                ledger.draw(piece[0], watts)
        self.clocks[row] = clock_mhz
        return True

    def preempt(self, row: int, for_row: int) -> None:
        self.preempted[row] = for_row

    def keep(self, pieces: Iterable[RowPiece], for_row: int) -> None:
        """Let a job wait for a place: what is free of its GPUs is kept from others."""
        free = self.ledger.free
        self.ledger.take([(node, mask & free[node], 0, 0) for node, mask, _, _ in pieces])
        self.reserved.append(for_row)

    def keep_node(self, node: int, ask: Ask, tenant: int) -> None:
        """Keep what is free of an ask on one node for whom others make room there."""
        ledger, free = self.ledger, self.ledger.free[node]
        aside = lowest_bits(free, min(ask.gpus, free.bit_count()))
        cpus = min(ask.cpus * ask.gpus, ledger.cpus[node])
        ledger.take([(node, aside, cpus, min(ask.mem_mib * ask.gpus, ledger.mem_mib[node]))])
        ledger.charge(tenant, ledger.gpu_type[node], ask.gpus)

    def wake(self, node: int) -> bool:
        """Switch a node on if its watts are left."""
        if self.ledger.watts_per_gpu is not None:
            idle_w = self._idle_w[node]
            if self.ledger.spare_w(node) < idle_w:
                return False
            self.ledger.draw(node, idle_w)
        self.switched[node] = True
        return True

    def sleep(self, node: int) -> bool:
        """Switch an empty node off, if the operator lets it and nobody may need it."""
        if node in self._reservations.nodes:
            return False
        if not self.snapshot.power_off or not self._sleep_rules.allow(node):
            return False
        self.switched[node] = False
        return True

    @cached_property
    def _sleep_rules(self) -> SleepRules:
        return SleepRules(self.snapshot, self.placed, self.switched)

    def _wake_for(self, queue: I64, kept_back: Bool | None) -> None:
        """What waits for room, but not what waits for work to stop or for a better hour."""
        left = waiting(self.snapshot)
        left[[*self.placed, *self.reserved]] = False
        if kept_back is not None:
            left &= ~kept_back
        ranked = queue[left[queue]]
        left[ranked] = False
        rows = np.concatenate([ranked, in_turn(self.snapshot, np.flatnonzero(left))])
        for node in nodes_to_wake(self.ledger, self.switched, rows):
            self.wake(node)

    def lift(self, row: int, held: Sequence[RowPiece] | None = None, *, sign: int = 1) -> None:
        """Give what a running job holds to the ledger, or with `sign` -1 back to the job."""
        pieces = self.held(row) if held is None else held
        (self.ledger.give if sign > 0 else self.ledger.take)(pieces)
        kind = self.ledger.gpu_type[pieces[0][0]]
        self.ledger.charge(self.tenant(row), kind, -sign * gpus_of(pieces))
        for piece, watts in zip(pieces, self.held_w(row, pieces), strict=True):
            self.ledger.draw(piece[0], -sign * watts)

    # Back to where one was.

    def mark(self) -> DraftMark:
        return self.ledger.keep_journal(), len(self.reserved), *map(len, self._changes)

    def back(self, to: DraftMark) -> None:
        """Undo what happened since, to the last watt; marks are given up latest first."""
        journal, reserved, *lengths = to
        self.ledger.undo(journal)
        del self.reserved[reserved:]
        for change, length in zip(self._changes, lengths, strict=True):
            while len(change) > length:
                change.popitem()
        self.__dict__.pop("_sleep_rules", None)

    @property
    def _changes(self) -> tuple[dict[int, Any], ...]:
        return self.placed, self.clocks, self.preempted, self.switched

    # The plan.

    def lost_gpu_s(self) -> float:
        """Work that stopped jobs will do again."""
        return sum(self._lost_gpu_s[row] for row in self.preempted)

    def plan(
        self,
        queue: I64,
        *,
        objective: float,
        shown: Mapping[str, float],
        expected: tuple[Expected, ...] = (),
        until_s: F64 | None = None,
        kept_back: Bool | None = None,
        for_tariff: Callable[[], Bool] | None = None,
        only_room: Callable[[], Bool] | None = None,
        lent: bool = True,
    ) -> Plan:
        """`queue` are the rows that could have started, in order; every other queued one waits too.

        By job row, asked for when somebody wants to know: who waits `for_tariff`, and who would
        start if it had `only_room`. Without `lent` the policy uses no lent nodes.
        """
        if (self.snapshot.nodes.state == NodeState.OFF).any():
            self._wake_for(queue, kept_back)
        ids, nodes = self._ids

        def say_why() -> Explained:
            ledger = self._reservations.unparted(self.ledger)
            left = left_waiting(
                self.snapshot,
                queue,
                self.placed,
                self.reserved,
                until_s=until_s,
                for_tariff=None if for_tariff is None else for_tariff(),
                only_room=None if only_room is None else only_room(),
            )
            return explain(ledger, ledger.atlas, left, lent=lent)

        return Plan(
            starts=self._written(Start),
            preempts=tuple(
                Preempt(ids[row], ids[taker], self._lost_gpu_s[row])
                for row, taker in self.preempted.items()
            ),
            moves=self._written(Move),
            resizes=self._written(Resize),
            clocks=tuple(SetClock(ids[row], mhz) for row, mhz in self.clocks.items()),
            power=tuple(
                PowerNode(node, on=on)
                for node, on in sorted((nodes[row], on) for row, on in self.switched.items())
            ),
            retunes=self._written(Retune),
            explain=say_why,
            objective=objective,
            shown=dict(shown),
            expected=expected,
        )

    def _written(self, kind: type[Entry]) -> tuple[Entry, ...]:
        """The entries of a kind, in the order in which they were made."""
        ids, nodes = self._ids
        return tuple(
            [
                kind(
                    ids[row],
                    tuple([Piece(nodes[node], *rest) for node, *rest in to.pieces]),
                    # What keeps its GPUs keeps its clock.
                    *(() if kind is Retune else (to.clock_mhz,)),
                )
                for row, to in self.placed.items()
                if to.kind is kind
            ]
        )
