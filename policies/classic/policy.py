"""The classic policy: an ordering, a placement, a preemption rule and a backfill rule, composed."""

from collections.abc import Callable

import numpy as np

from policies.bench.ladder import Ladders
from policies.bench.ledger import Hold, Ledger, RowPiece
from policies.bench.machine_layout import LayoutCache
from policies.bench.orderings import Ordering, ranked
from policies.bench.placement import PLACEMENTS
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Victims, lost_s
from policies.classic.backfill import Backfill
from policies.classic.moving import Moves
from policies.classic.parameters import ClassicParameters
from policies.classic.queue_pass import QueuePass, Served, waiting
from policies.contract.columns import F64, I64
from policies.contract.plan import Explained, Move, Plan, Preempt, Start
from policies.contract.plan_columns import pieces_of
from policies.contract.snapshot import JobState, Snapshot
from policies.explain.waiting import Left, explain

# Enum members are slow to look up, and these are asked every round.
_QUEUED, _STOPPING = int(JobState.QUEUED), int(JobState.STOPPING)


class Classic:
    def __init__(self, rules: ClassicParameters, ordering: Ordering) -> None:
        self.rules = rules
        self.ordering = ordering
        self._shelf = LayoutCache()

    @property
    def work_conserving(self) -> bool:
        rules = self.rules
        return not rules.strict and not rules.reservations and rules.placement != "buddy"

    @property
    def minds_running(self) -> bool:
        return False

    def plan(self, snapshot: Snapshot) -> Plan:
        rules, jobs = self.rules, snapshot.jobs
        ledger = Ledger(
            snapshot,
            PLACEMENTS[rules.placement],
            keeps_blocks=rules.placement == "buddy",
            shelf=self._shelf,
        )
        remaining_s = np.fmin(jobs.est_run_s, np.inf)  # inf where unknown: fmin passes over nan
        key = self.ordering(snapshot, remaining_s)
        queued = jobs.state == _QUEUED
        blocked = jobs.blocked.astype(np.bool_)
        queue = ranked(snapshot, key, (queued & ~blocked).nonzero()[0])
        claims = self._claims(ledger, key, remaining_s)
        moves = self._moves(ledger)
        served = QueuePass(
            ledger,
            ledger.atlas,
            queue,
            key,
            strict=rules.strict,
            claims=claims,
            backfill=self._backfill(ledger),
            moves=moves,
        ).serve()

        def say_why() -> Explained:
            held_back = np.flatnonzero(queued & blocked)
            return explain(ledger, ledger.atlas, _left(queue, served, held_back))

        clock_mhz = self._clocks(snapshot)
        starts = tuple(
            _start(snapshot, row, hold, clock_mhz(row, hold))
            for row, hold in zip(queue.tolist(), served.holds, strict=True)
            if hold is not None
        )
        preempts = tuple(
            Preempt(int(jobs.id[victim.row]), int(jobs.id[row]), victim.cost)
            for victim, row in (claims.preempted if claims else ())
        )
        return Plan(
            starts=starts,
            preempts=preempts,
            moves=tuple(
                _move(snapshot, row, piece) for row, piece in (moves.made if moves else ())
            ),
            explain=say_why,
            objective=float(sum(preempt.lost_gpu_s for preempt in preempts)),
            shown={"lost_gpu_s": float(sum(preempt.lost_gpu_s for preempt in preempts))},
        )

    def _claims(self, ledger: Ledger, key: F64, remaining_s: F64) -> Preemption | None:
        rules, snapshot = self.rules, ledger.snapshot
        if not (
            rules.preempt
            or snapshot.partitions.lends.any()
            or (snapshot.jobs.state == _STOPPING).any()
        ):
            return None
        lost = lost_s(snapshot)
        key_once_stopped = self.ordering(snapshot, remaining_s + lost)
        victims = Victims(
            snapshot,
            np.minimum(key, key_once_stopped),
            min_run_s=rules.safe_s,
            by_rank=rules.preempt,
            lost=lost,
        )
        claims = Preemption(ledger, victims, max_preemptions=rules.max_preemptions)
        return claims if claims.possible else None

    def _clocks(self, snapshot: Snapshot) -> Callable[[int, Hold], int]:
        """The clock of a started job; 0, the highest, unless the rules want the efficient one."""
        if self.rules.clock == "max":
            return lambda row, hold: 0
        ladders, profile = Ladders(snapshot, "efficient"), snapshot.jobs.profile

        def efficient(row: int, hold: Hold) -> int:
            ladder = ladders.of(int(profile[row]), hold.gpu_type, hold.gpus, hold.gpus)
            return ladder.mhz[0][0]

        return efficient

    def _moves(self, ledger: Ledger) -> Moves | None:
        if not self.rules.migration:
            return None
        everyone = np.full(len(ledger.snapshot.jobs), np.inf)
        min_run_s = self.rules.safe_s
        return Moves(ledger, Victims(ledger.snapshot, everyone, min_run_s=min_run_s, by_rank=True))

    def _backfill(self, ledger: Ledger) -> Backfill | None:
        rules = self.rules
        if not rules.reservations:
            return None
        return Backfill(ledger, reservations=rules.reservations, default_run_s=rules.default_run_s)


def _left(queue: I64, served: Served, held_back: I64) -> Left:
    at = waiting(served)
    nobody = np.zeros(len(held_back), np.int64)
    return Left(
        rows=np.concatenate([queue[at], held_back]),
        ahead=np.concatenate([at, nobody]).astype(np.int32),
        claimed=np.concatenate([np.array(served.claimed, np.bool_)[at], nobody.astype(np.bool_)]),
        until_s=np.concatenate([np.array(served.until_s)[at], np.full(len(held_back), np.nan)]),
    )


def _start(snapshot: Snapshot, row: int, hold: Hold, clock_mhz: int) -> Start:
    pieces = pieces_of(snapshot.nodes.id, hold.pieces)
    return Start(int(snapshot.jobs.id[row]), pieces, clock_mhz)


def _move(snapshot: Snapshot, row: int, piece: RowPiece) -> Move:
    jobs, pieces = snapshot.jobs, pieces_of(snapshot.nodes.id, [piece])
    return Move(int(jobs.id[row]), pieces, int(jobs.clock_mhz[row]))
