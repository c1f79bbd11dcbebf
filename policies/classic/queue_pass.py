"""One pass over the queue in order: first everybody at home, then by borrowing."""

from collections.abc import Callable

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ask, Hold
from policies.bench.reach import shapes_of
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Preemptor
from policies.classic.backfill import Backfill
from policies.classic.moving import Moves
from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import Start


class QueuePass:
    def __init__(
        self,
        draft: PlanDraft,
        queue: I64,
        key: F64,
        *,
        strict: bool,
        preemption: Preemption | None,
        backfill: Backfill | None,
        moves: Moves | None,
        clock_mhz: Callable[[int, Hold], int],
    ) -> None:
        snapshot, ledger = draft.snapshot, draft.ledger
        self.draft = draft
        self.ledger = ledger
        self.strict = strict
        self.preemption = preemption
        self.backfill = backfill
        self.clock_mhz = clock_mhz
        self.moves = moves
        self.moved_for: set[int] = set()
        self.rows: list[int] = queue.tolist()
        self.keys: list[float] = key[queue].tolist()
        self.tenants: list[int] = snapshot.jobs.tenant[queue].tolist()
        self.has_energy: list[bool] = (snapshot.tenants.energy_left_j > 0).tolist()
        self.shapes, self.shape_of = shapes_of(snapshot, queue)
        like_job = dict(zip(reversed(self.shape_of), reversed(self.rows), strict=True))
        # With backfill, room at home may be reserved, so who borrows lies outside altogether.
        mixes = backfill is None
        self.asks = [
            ledger.ask(shape, like_job=like_job[index], mixes_home_and_lent=mixes)
            for index, shape in enumerate(self.shapes)
        ]
        self._possible: dict[int, bool] = {}
        self._holds: dict[int, Hold] = {}
        """By position in the queue."""
        self._reserved: set[int] = set()
        self._until_s: F64 = np.full(len(snapshot.jobs), np.nan)
        self.first_stuck: Bool = np.zeros(len(snapshot.jobs), np.bool_)
        """The first job of each partition that found no room."""
        self._home = snapshot.jobs.partition

    def run(self) -> F64:
        """Write the draft; returns by job row when a reservation lets it start."""
        self._from_home()
        if any(shape.borrows for shape in self.shapes):
            self._by_borrowing()
        for at in sorted(self._holds):
            row, hold = self.rows[at], self._holds[at]
            self.draft.write(Start, row, hold.pieces, self.clock_mhz(row, hold))
        for victim, row in self.preemption.preempted if self.preemption else ():
            self.draft.preempt(victim.row, row)
        self.draft.reserved += sorted(self._reserved)
        return self._until_s

    def next_in_line(self) -> Bool:
        """Jobs before which nobody of their partition waits for room."""
        held_up = np.isin(self._home, self._home[self.first_stuck])
        return np.asarray(self.first_stuck | ~held_up, np.bool_)

    def _from_home(self) -> None:
        # Room only shrinks, so a shape that found none finds none later in the round.
        closed = [False] * len(self.shapes)
        stuck: set[int] = set()
        for at, index in enumerate(self.shape_of):
            if closed[index]:
                continue
            home = self.shapes[index].partition
            if self.strict and home in stuck:
                continue
            ask, tenant = self.asks[index], self.tenants[at]
            types = self.ledger.types_within_quota(tenant, ask)
            if not types or not self.has_energy[tenant]:
                continue
            if self._start_at_home(at, home, ask, types):
                continue
            if not self._is_possible(index):
                closed[index] = True
                continue
            if home not in stuck and self._move(at, home, ask, types):
                continue
            if self._preempt(at, home, ask, types):
                continue
            if home not in stuck:
                self.first_stuck[self.rows[at]] = True
                stuck.add(home)
            if self.backfill is None:
                closed[index] = types is ask.types
            else:
                start_s = self.backfill.reserve(self.rows[at], home, ask, types)
                if start_s is not None:
                    self._until_s[self.rows[at]] = start_s

    def _is_possible(self, index: int) -> bool:
        """Whether the shape could ever start; asked only of shapes that did not."""
        if index not in self._possible:
            reason = self.ledger.atlas.structural_reason(self.shapes[index])
            self._possible[index] = reason is None
        return self._possible[index]

    def _start_at_home(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        if self.backfill is None:
            hold = self.ledger.try_place(ask, self.tenants[at], types)
        else:
            hold = self.backfill.start(self.rows[at], home, ask, types)
        if hold is not None:
            self._holds[at] = hold
        return hold is not None

    def _move(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        """Only for the first job of a partition that does not fit, and once a round."""
        if self.moves is None or home in self.moved_for:
            return False
        preempted = self.preemption.preempted if self.preemption else ()
        stopped = frozenset(victim.row for victim, _ in preempted)
        moved = self.moves.make_room(ask, self.tenants[at], types, stopped)
        self.moved_for.add(home)
        if self.preemption is not None:
            for row in moved:
                self.preemption.victims.stop(row)
        return self._reserve(at, found=bool(moved))

    def _preempt(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        if self.preemption is None or (self.backfill is not None and self.backfill.promised(home)):
            # Behind a reservation, work would be stopped for room that is kept for another job.
            return False
        preemptor = Preemptor(self.rows[at], self.keys[at], self.tenants[at], home)
        return self._reserve(at, found=self.preemption.make_room(preemptor, ask, types))

    def _reserve(self, at: int, *, found: bool) -> bool:
        if found:
            self._reserved.add(self.rows[at])
        return found

    def _by_borrowing(self) -> None:
        """After every owner was served, so that nobody's idle GPU is lent before it is asked."""
        closed = [False] * len(self.shapes)
        stuck: set[int] = set()
        for at, index in enumerate(self.shape_of):
            shape = self.shapes[index]
            row = self.rows[at]
            if closed[index] or at in self._holds or row in self._reserved:
                continue
            if not (shape.borrows or self.strict):
                continue
            ask, tenant = self.asks[index], self.tenants[at]
            types = self.ledger.types_within_quota(tenant, ask)
            if not types or not self.has_energy[tenant]:
                continue
            if self.strict and shape.partition in stuck:
                continue
            hold = self.ledger.try_place(ask, tenant, types, borrow=shape.borrows)
            if hold is not None:
                self._holds[at] = hold
            else:
                possible = self._is_possible(index)
                if possible:
                    stuck.add(shape.partition)
                closed[index] = types is ask.types or not possible
