"""One round at the desk: the queue is served in order, first from home, then by borrowing."""

from dataclasses import dataclass, field

import numpy as np

from policies.bench.ledger import Ask, Hold, Ledger
from policies.bench.reach import Atlas, shapes_of
from policies.bench.victims.outlook import Preemptor
from policies.bench.victims.preemption import Preemption
from policies.classic.backfill import Backfill
from policies.classic.moving import Moves
from policies.contract.columns import F64, I64


@dataclass(slots=True)
class Served:
    """What came of every position of the queue."""

    holds: list[Hold | None]
    claimed: list[bool]
    until_s: list[float] = field(default_factory=list)


class QueuePass:
    def __init__(
        self,
        ledger: Ledger,
        atlas: Atlas,
        queue: I64,
        key: F64,
        *,
        strict: bool,
        claims: Preemption | None,
        backfill: Backfill | None,
        moves: Moves | None = None,
    ) -> None:
        snapshot = ledger.snapshot
        self.ledger = ledger
        self.strict = strict
        self.claims = claims
        self.backfill = backfill
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
        self._atlas = atlas
        self._possible: dict[int, bool] = {}
        count = len(self.rows)
        self.served = Served([None] * count, [False] * count, [float("nan")] * count)

    def serve(self) -> Served:
        self._from_home()
        if any(shape.borrows for shape in self.shapes):
            self._by_borrowing()
        return self.served

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
            if self._claim(at, home, ask, types):
                continue
            stuck.add(home)
            if self.backfill is None:
                closed[index] = types is ask.types
            else:
                start_s = self.backfill.reserve(self.rows[at], home, ask, types)
                self.served.until_s[at] = float("nan") if start_s is None else start_s

    def _is_possible(self, index: int) -> bool:
        """Whether the shape could ever start; asked only of shapes that did not."""
        if index not in self._possible:
            reason = self._atlas.structural_reason(self.shapes[index])
            self._possible[index] = reason is None
        return self._possible[index]

    def _start_at_home(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        if self.backfill is None:
            hold = self.ledger.try_place(ask, self.tenants[at], types)
        else:
            hold = self.backfill.start(self.rows[at], home, ask, types)
        self.served.holds[at] = hold
        return hold is not None

    def _move(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        """Only for the first job of a partition that does not fit, and once a round."""
        if self.moves is None or home in self.moved_for:
            return False
        preempted = self.claims.preempted if self.claims else ()
        stopped = frozenset(victim.row for victim, _ in preempted)
        self.served.claimed[at] = self.moves.make_room(ask, self.tenants[at], types, stopped)
        self.moved_for.add(home)
        if self.claims is not None:
            for row, _ in self.moves.made:
                self.claims.victims.stop(row)
        return self.served.claimed[at]

    def _claim(self, at: int, home: int, ask: Ask, types: tuple[int, ...]) -> bool:
        if self.claims is None or (self.backfill is not None and self.backfill.promised(home)):
            # Behind a reservation, work would be stopped for room that is kept for another job.
            return False
        claimant = Preemptor(self.rows[at], self.keys[at], self.tenants[at], home)
        self.served.claimed[at] = self.claims.claim(claimant, ask, types)
        return self.served.claimed[at]

    def _by_borrowing(self) -> None:
        """After every owner was served, so that nobody's idle GPU is lent before it is asked."""
        closed = [False] * len(self.shapes)
        stuck: set[int] = set()
        for at, index in enumerate(self.shape_of):
            shape = self.shapes[index]
            if closed[index] or self.served.holds[at] or self.served.claimed[at]:
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
            self.served.holds[at] = hold
            if hold is None:
                possible = self._is_possible(index)
                if possible:
                    stuck.add(shape.partition)
                closed[index] = types is ask.types or not possible


def waiting(served: Served) -> I64:
    """Positions of the queue that did not start."""
    return np.array([at for at, hold in enumerate(served.holds) if hold is None], np.int64)
