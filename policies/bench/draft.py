"""A plan in the making: each change is written down, taken from the ledger, and can be undone."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from policies.bench.ledger import Ask, Ledger, RowPiece, gpus_of
from policies.bench.power import held_gpus, node_idle_w
from policies.bench.reach import Shape
from policies.bench.roster import lost_s
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
from policies.contract.plan_columns import pieces_of
from policies.explain.waiting import explain, left_waiting

# Watts are sums of floats in another order than the checks'.
SLACK_W = 1e-6


class Written(NamedTuple):
    """What a job is to have; its entry is of that kind."""

    kind: type[Placing] | type[Retune]
    pieces: Sequence[RowPiece]
    clock_mhz: int


class DraftMark(NamedTuple):
    """How far a draft had come."""

    ledger: int
    placed: int
    clocks: int
    preempted: int
    reserved: int
    switched: int


class PlanDraft:
    """Jobs and nodes are rows of the snapshot; a job gets one entry.

    What a resized, moved or stopped job leaves is free only in a later round, unless its family
    says otherwise by lifting it first.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.snapshot = ledger.snapshot
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
    def _columns(self) -> dict[str, list[Any]]:
        """Read row by row."""
        jobs, held = self.snapshot.jobs, self.snapshot.placements
        return {
            "tenant": jobs.tenant.tolist(),
            "cpus": jobs.cpus_per_gpu.tolist(),
            "mem_mib": jobs.mem_mib_per_gpu.tolist(),
            "span": jobs.span.tolist(),
            "offset": held.offset.tolist(),
            "pieces": held.pieces(),
        }

    @cached_property
    def _idle_w(self) -> list[float]:
        idle_w: list[float] = node_idle_w(self.snapshot).tolist()
        return idle_w

    @cached_property
    def _lost_gpu_s(self) -> list[float]:
        lost: list[float] = (lost_s(self.snapshot) * held_gpus(self.snapshot)).tolist()
        return lost

    def tenant(self, row: int) -> int:
        tenant: int = self._columns["tenant"][row]
        return tenant

    def held(self, row: int) -> list[RowPiece]:
        """The pieces that a job has in the snapshot."""
        offset = self._columns["offset"]
        held: list[RowPiece] = self._columns["pieces"][offset[row] : offset[row + 1]]
        return held

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
        of = self._columns
        shape = Shape(
            partition, 1 << gpu_type, gpus, of["cpus"][row], of["mem_mib"][row], of["span"][row],
            False, -1,
        )  # fmt: skip
        ask = self.ledger.ask(shape, like_job=row)
        counted = self.ledger.watts_per_gpu is not None and gpu_w is not None
        ask.watts = [gpu_w or 0.0] * len(self.ledger.idle_w) if counted else []
        return ask

    # Changes.

    def start(self, row: int, ask: Ask, clock_mhz: int = 0, *, borrow: bool = False) -> bool:
        """Start a queued job where the ledger finds room, within its tenant's quotas."""
        tenant = self.tenant(row)
        types = self.ledger.types_within_quota(tenant, ask)
        hold = self.ledger.try_place(ask, tenant, types, borrow=borrow)
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

    def wake(self, node: int) -> bool:
        """Switch a node on if its watts are left."""
        if self.ledger.watts_per_gpu is not None:
            idle_w = self._idle_w[node]
            if self.ledger.spare_w(node) < idle_w:
                return False
            self.ledger.draw(node, idle_w)
        self.switched[node] = True
        return True

    def sleep(self, node: int) -> None:
        self.switched[node] = False

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
        return DraftMark(
            self.ledger.keep_journal(),
            len(self.placed),
            len(self.clocks),
            len(self.preempted),
            len(self.reserved),
            len(self.switched),
        )

    def back(self, to: DraftMark) -> None:
        """Undo what happened since, to the last watt; marks are given up latest first."""
        self.ledger.undo(to.ledger)
        for written, length in (
            (self.placed, to.placed),
            (self.clocks, to.clocks),
            (self.preempted, to.preempted),
            (self.switched, to.switched),
        ):
            while len(written) > length:
                written.popitem()
        del self.reserved[to.reserved :]

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
        for_tariff: Bool | None = None,
    ) -> Plan:
        """`queue` are the rows that could have started, in order; every other queued one waits too.

        `until_s` and `for_tariff` are by job row: when a job will start, and who waits for a price.
        """
        ledger, ids, nodes = self.ledger, self.snapshot.jobs.id, self.snapshot.nodes.id

        def say_why() -> Explained:
            left = left_waiting(
                self.snapshot,
                queue,
                self.placed,
                self.reserved,
                until_s=until_s,
                for_tariff=for_tariff,
            )
            return explain(ledger, ledger.atlas, left)

        return Plan(
            starts=tuple(Start(*entry) for entry in self._written(Start)),
            preempts=tuple(
                Preempt(int(ids[row]), int(ids[taker]), self._lost_gpu_s[row])
                for row, taker in self.preempted.items()
            ),
            moves=tuple(Move(*entry) for entry in self._written(Move)),
            resizes=tuple(Resize(*entry) for entry in self._written(Resize)),
            clocks=tuple(SetClock(int(ids[row]), mhz) for row, mhz in self.clocks.items()),
            power=tuple(
                sorted(
                    (PowerNode(int(nodes[node]), on=on) for node, on in self.switched.items()),
                    key=lambda entry: entry.node,
                )
            ),
            retunes=tuple(Retune(job, pieces) for job, pieces, _ in self._written(Retune)),
            explain=say_why,
            objective=objective,
            shown=dict(shown),
            expected=expected,
        )

    def _written(self, kind: object) -> list[tuple[int, tuple[Piece, ...], int]]:
        """Job, pieces and clock of the entries of a kind, in the order in which they were made."""
        ids, nodes = self.snapshot.jobs.id, self.snapshot.nodes.id
        return [
            (int(ids[row]), pieces_of(nodes, written.pieces), written.clock_mhz)
            for row, written in self.placed.items()
            if written.kind is kind
        ]
