"""Synergy (OSDI 2022): the ordering decides who gets GPUs, sensitivity who gets CPUs and memory.

A round chooses who runs by GPUs alone, lets residents keep their GPUs, packs the newcomers, and
then brings everybody's CPUs and memory as near to what they want as the nodes allow.
"""

from dataclasses import dataclass, field

import numpy as np

from policies.bench import orderings
from policies.bench.ledger import Ledger, RowPiece
from policies.bench.machine_layout import LayoutCache
from policies.bench.orderings import ranked
from policies.bench.shares.exchange import exchange
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs import Share
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.shares.packing import Packing
from policies.bench.shares.share_ledger import Holding, ShareLedger
from policies.bench.victims.cover import Victim
from policies.bench.victims.outlook import Preemptor
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Victims, lost_s
from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import Move, Plan, Preempt, Retune, Start
from policies.contract.plan_columns import pieces_of
from policies.contract.snapshot import Blocked, JobState, Snapshot
from policies.explain.waiting import Left, explain
from policies.synergy.packing import PACKINGS
from policies.synergy.parameters import SynergyOrdering, SynergyParameters
from policies.synergy.runnable import Runnable, RunnableSearch

Stopped = list[tuple[Victim, int]]
"""Who is stopped, and the row of the job it is stopped for."""


ORDERINGS: dict[SynergyOrdering, orderings.Ordering] = {
    "fifo": orderings.fifo,
    "srtf": orderings.shortest_remaining,
    "las": orderings.least_attained_service(orderings.QUEUE_GPU_S),
    "ftf": orderings.finish_time_fairness,
}


class Synergy:
    def __init__(self, rules: SynergyParameters) -> None:
        self.rules = rules
        # Kept from round to round only to spare work: no plan depends on what lies here.
        self._appetites: NeedsTable | None = None
        self._shelf = LayoutCache()

    @property
    def work_conserving(self) -> bool:
        return False

    @property
    def minds_running(self) -> bool:
        return True

    def plan(self, snapshot: Snapshot) -> Plan:
        if self._appetites is None or not self._appetites.serves(snapshot):
            self._appetites = NeedsTable(snapshot)
        return _Round(self.rules, snapshot, self._appetites, self._shelf).plan()


@dataclass(slots=True)
class _Packed:
    """A packing in progress; `had` is what residents held when the round began."""

    packing: Packing
    residents: list[Holding]
    had: dict[int, list[RowPiece]]
    started: dict[int, Holding] = field(default_factory=dict)
    claimed: set[int] = field(default_factory=set)


class _Round:
    def __init__(
        self,
        rules: SynergyParameters,
        snapshot: Snapshot,
        appetites: NeedsTable,
        shelf: LayoutCache,
    ) -> None:
        jobs = snapshot.jobs
        self.rules = rules
        self.snapshot = snapshot
        self._shelf = shelf
        self.roster = JobShares(snapshot, appetites)
        self.running: Bool = jobs.state == JobState.RUNNING
        self.remaining_s: F64 = np.where(np.isnan(jobs.est_run_s), np.inf, jobs.est_run_s)
        self.key: F64 = ORDERINGS[rules.ordering](snapshot, self.remaining_s)
        funded = (snapshot.tenants.energy_left_j > 0)[jobs.tenant]
        candidate = (jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO) & funded
        self.order: I64 = ranked(snapshot, self.key, np.flatnonzero(self.running | candidate))
        self.rank: I64 = np.empty(len(jobs), np.int64)
        self.rank[self.order] = np.arange(len(self.order))

    def plan(self) -> Plan:
        ledger = self._ledger()
        who = RunnableSearch(ledger, self.roster.shape).choose(
            self.order, self.running, self.running & ~self._stoppable()
        )
        largest_first = sorted(who.chosen, key=lambda row: (-self.roster.gpus[row], self.rank[row]))
        packed = self._pack(ledger, largest_first)
        if len(packed.started) < len(who.chosen) and largest_first != who.chosen:
            # Something did not fit after all: then at least nobody goes before who ranks higher.
            packed = self._pack(self._ledger(), who.chosen)
        claims = self._claim(packed, who)
        if packed.packing.fills:
            self._fill(packed, who.behind)
        stopped = {victim.row for victim, _ in claims}
        everybody = [s for s in packed.residents if s.row not in stopped]
        everybody += packed.started.values()
        packed.packing.settle(everybody, lambda seat: (-seat.gpus, self.rank[seat.row]))
        if self.rules.migration:
            movable = self._stoppable()
            movable[list(stopped)] = False
            packing = packed.packing
            exchange(packing.book, packed.residents, movable, packing.target)
        return self._answer(packed, claims, everybody)

    def _ledger(self) -> Ledger:
        return Ledger(self.snapshot, PACKINGS[self.rules.packing][1], shelf=self._shelf)

    def _stoppable(self) -> Bool:
        """With leases, whoever the order has no room for; else those who only borrow."""
        rules, snapshot, jobs = self.rules, self.snapshot, self.snapshot.jobs
        if not rules.preempt:
            return self._victims().stoppable
        young: Bool = snapshot.now_s - jobs.started_s < np.maximum(jobs.min_run_s, rules.min_run_s)
        return self.running & jobs.preemptible & ~young

    def _victims(self) -> Victims:
        rules, snapshot = self.rules, self.snapshot
        once_stopped = ORDERINGS[rules.ordering](snapshot, self.remaining_s + lost_s(snapshot))
        return Victims(
            snapshot,
            np.minimum(self.key, once_stopped),
            min_run_s=rules.min_run_s,
            by_rank=rules.preempt,
        )

    def _pack(self, ledger: Ledger, rows: list[int]) -> _Packed:
        book, residents = ShareLedger(ledger), self.roster.residents()
        for seat in residents:
            book.sit(seat)
        newcomers = [self.roster.newcomer(row) for row in rows]
        packing = PACKINGS[self.rules.packing][0](book, residents, newcomers)
        packed = _Packed(packing, residents, {seat.row: seat.pieces for seat in residents})
        for job in newcomers:
            placed = packing.place(job)
            if placed is not None:
                packed.started[job.row] = placed
        return packed

    def _claim(self, packed: _Packed, who: Runnable) -> Stopped:
        """Stop work outside the set for those in it that found no GPUs; they start once it has."""
        ledger = packed.packing.ledger
        left = [row for row in who.chosen if row not in packed.started]
        if not left:
            return []
        victims = self._victims()
        allowed = np.zeros(len(self.rank), np.bool_)
        allowed[who.outside] = True
        # Who has just given something up runs on with the rest: a job has one entry in a plan.
        allowed[[s.row for s in packed.residents if s.pieces != packed.had[s.row]]] = False
        victims.stoppable &= allowed
        claims = Preemption(ledger, victims, max_preemptions=self.rules.max_preemptions)
        for row in left if claims.possible else ():
            job = self.roster.newcomer(row)
            # CPUs and memory can be had from others; only a stated request must be there as it is.
            ask = packed.packing.ask(job, Share(job.shape.cpus_per_gpu, job.shape.mem_mib_per_gpu))
            types = ledger.types_within_quota(job.tenant, ask)
            if not types or ledger.would_place(ask, types):
                continue
            claimant = Preemptor(row, float(self.key[row]), job.tenant, job.shape.partition)
            if claims.claim(claimant, ask, types):
                packed.claimed.add(row)
        return claims.preempted

    def _fill(self, packed: _Packed, behind: list[int]) -> None:
        """What the set leaves idle goes to the next in order, at home first, then by borrowing."""
        packing, ledger = packed.packing, packed.packing.ledger
        closed: set[object] = set()
        for borrowing in (False, True):
            for row in behind:
                if row in packed.started or not any(ledger.free):
                    continue
                job = self.roster.newcomer(row)
                kind = (borrowing, job.shape, id(job.appetite), job.tenant)
                if kind in closed or (borrowing and not job.shape.borrows):
                    continue
                seat = packing.borrow(job) if borrowing else packing.place(job)
                if seat is None:
                    closed.add(kind)
                else:
                    packed.started[row] = seat

    def _answer(self, packed: _Packed, preempted: Stopped, everybody: list[Holding]) -> Plan:
        ids, nodes = self.snapshot.jobs.id, self.snapshot.nodes.id
        ledger = packed.packing.ledger
        speed = sum(seat.appetite.speed(seat.share) for seat in everybody)
        shown = {"total_speed": speed, "lost_gpu_s": sum(v.cost for v, _ in preempted)}
        if packed.packing.bound is not None:
            shown["bound"] = packed.packing.bound
        return Plan(
            starts=tuple(
                Start(int(ids[row]), pieces_of(nodes, seat.pieces))
                for row, seat in sorted(packed.started.items(), key=lambda item: self.rank[item[0]])
            ),
            preempts=tuple(
                Preempt(int(ids[victim.row]), int(ids[row]), victim.cost)
                for victim, row in preempted
            ),
            moves=tuple(
                Move(
                    int(ids[seat.row]),
                    pieces_of(nodes, seat.pieces),
                    int(self.snapshot.jobs.clock_mhz[seat.row]),
                )
                for seat in packed.residents
                if seat.pieces[0][0] != packed.had[seat.row][0][0]
            ),
            retunes=tuple(
                Retune(int(ids[seat.row]), pieces_of(nodes, seat.pieces))
                for seat in packed.residents
                if seat.pieces != packed.had[seat.row]
                and seat.pieces[0][0] == packed.had[seat.row][0][0]
            ),
            explain=lambda: explain(ledger, ledger.atlas, self._left(packed)),
            objective=speed,
            shown=shown,
        )

    def _left(self, packed: _Packed) -> Left:
        jobs = self.snapshot.jobs
        queue = self.order[~self.running[self.order]]
        waiting = np.array([row not in packed.started for row in queue.tolist()], np.bool_)
        ahead = np.flatnonzero(waiting)
        rows = queue[waiting]
        queued = jobs.state == JobState.QUEUED
        queued[queue] = False
        others = np.flatnonzero(queued)
        claimed = np.array([row in packed.claimed for row in rows.tolist()], np.bool_)
        return Left(
            rows=np.concatenate([rows, others]),
            ahead=np.concatenate([ahead, np.zeros(len(others), np.int64)]).astype(np.int32),
            claimed=np.concatenate([claimed, np.zeros(len(others), np.bool_)]),
            until_s=np.full(len(rows) + len(others), np.nan),
        )
