"""Synergy (OSDI 2022): the ordering decides who gets GPUs, sensitivity who gets CPUs and memory.

A round chooses who runs by GPUs alone, lets residents keep their GPUs, packs the newcomers, and
then brings everybody's CPUs and memory as near to what they want as the nodes allow.
"""

from dataclasses import dataclass, field

import numpy as np

from policies.bench import orderings
from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger, RowPiece
from policies.bench.machine_layout import LayoutCache
from policies.bench.orderings import ranked
from policies.bench.reservations import Reservations, reserve
from policies.bench.roster import lost_s, remaining_s, stoppable, waiting
from policies.bench.shares.exchange import exchange
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs import Share
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.shares.packing import Packing
from policies.bench.shares.share_ledger import Holding, ShareLedger
from policies.bench.victims.cover import Victim
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Preemptor, Victims
from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import Move, Plan, Retune, Start
from policies.contract.snapshot import JobState, Snapshot
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
    work_conserving = False
    minds_running = True

    def __init__(self, rules: SynergyParameters) -> None:
        self.rules = rules
        self._layouts = LayoutCache()

    def plan(self, snapshot: Snapshot) -> Plan:
        reservations = reserve(snapshot, self.rules.patience_s)
        needs_table = self._layouts.needs_table(snapshot)
        return _Round(self.rules, reservations, needs_table, self._layouts).plan()


@dataclass(slots=True)
class _Packed:
    """A packing in progress; `had` is what residents held when the round began."""

    packing: Packing
    residents: list[Holding]
    had: dict[int, list[RowPiece]]
    started: dict[int, Holding] = field(default_factory=dict)
    reserved: set[int] = field(default_factory=set)


class _Round:
    def __init__(
        self,
        rules: SynergyParameters,
        reservations: Reservations,
        needs_table: NeedsTable,
        layouts: LayoutCache,
    ) -> None:
        snapshot = reservations.seen
        jobs = snapshot.jobs
        self.rules = rules
        self.reservations = reservations
        self.snapshot = snapshot
        self._layouts = layouts
        self.roster = JobShares(snapshot, needs_table)
        self.running: Bool = jobs.state == JobState.RUNNING
        self.remaining_s = remaining_s(snapshot)
        self.key: F64 = ORDERINGS[rules.ordering](snapshot, self.remaining_s)
        both = np.flatnonzero(self.running | waiting(snapshot))
        self.order: I64 = ranked(snapshot, self.key, both)
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
        stops = self._preempt(packed, who)
        if packed.packing.fills:
            self._fill(packed, who.behind)
        stopped = {victim.row for victim, _ in stops}
        everybody = [s for s in packed.residents if s.row not in stopped]
        everybody += packed.started.values()
        packed.packing.settle(everybody, lambda holding: (-holding.gpus, self.rank[holding.row]))
        if self.rules.migration:
            movable = self._stoppable()
            movable[list(stopped)] = False
            packing = packed.packing
            exchange(packing.book, packed.residents, movable, packing.target)
        return self._write(packed, stops, everybody)

    def _ledger(self) -> Ledger:
        return Ledger(self.snapshot, PACKINGS[self.rules.packing][1], layouts=self._layouts)

    def _stoppable(self) -> Bool:
        """With leases, whoever the order has no room for; else those who only borrow."""
        if not self.rules.preempt:
            return self._victims().stoppable
        return stoppable(self.snapshot, self.rules.min_run_s)

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
        for holding in residents:
            book.sit(holding)
        newcomers = [self.roster.newcomer(row) for row in rows]
        packing = PACKINGS[self.rules.packing][0](book, residents, newcomers)
        packed = _Packed(packing, residents, {holding.row: holding.pieces for holding in residents})
        for job in newcomers:
            placed = packing.place(job)
            if placed is not None:
                packed.started[job.row] = placed
        return packed

    def _preempt(self, packed: _Packed, who: Runnable) -> Stopped:
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
        preemption = Preemption(ledger, victims, max_preemptions=self.rules.max_preemptions)
        for row in left if preemption.possible else ():
            job = self.roster.newcomer(row)
            # CPUs and memory can be had from others; only a stated request must be there as it is.
            ask = packed.packing.ask(job, Share(job.shape.cpus_per_gpu, job.shape.mem_mib_per_gpu))
            types = ledger.types_within_quota(job.tenant, ask)
            if not types or any(ledger.where(ask, kind) for kind in types):
                continue
            preemptor = Preemptor(row, float(self.key[row]), job.tenant, job.shape.partition)
            if preemption.make_room(preemptor, ask, types):
                packed.reserved.add(row)
        return preemption.preempted

    def _fill(self, packed: _Packed, behind: list[int]) -> None:
        """What the set leaves idle goes to the next in order, at home first, then by borrowing."""
        packing, ledger = packed.packing, packed.packing.ledger
        closed: set[object] = set()
        for borrowing in (False, True):
            for row in behind:
                if row in packed.started or not any(ledger.free):
                    continue
                job = self.roster.newcomer(row)
                kind = (borrowing, job.shape, id(job.needs), job.tenant)
                if kind in closed or (borrowing and not job.shape.borrows):
                    continue
                holding = packing.place(job, borrow=borrowing)
                if holding is None:
                    closed.add(kind)
                else:
                    packed.started[row] = holding

    def _write(self, packed: _Packed, stops: Stopped, everybody: list[Holding]) -> Plan:
        draft = PlanDraft(packed.packing.ledger, self.reservations)
        for row, holding in sorted(packed.started.items(), key=lambda item: self.rank[item[0]]):
            draft.write(Start, row, holding.pieces)
        for victim, row in stops:
            draft.preempt(victim.row, row)
        draft.reserved += sorted(packed.reserved)
        for holding in packed.residents:
            had = packed.had[holding.row]
            if holding.pieces[0][0] != had[0][0]:
                draft.write(
                    Move,
                    holding.row,
                    holding.pieces,
                    int(draft.snapshot.jobs.clock_mhz[holding.row]),
                )
            elif holding.pieces != had:
                draft.write(Retune, holding.row, holding.pieces)
        speed = sum(holding.needs.speed(holding.share) for holding in everybody)
        shown = {"total_speed": speed, "lost_gpu_s": draft.lost_gpu_s()}
        if packed.packing.bound is not None:
            shown["bound"] = packed.packing.bound
        queue = self.order[~self.running[self.order]]
        # Of an objective less is better: of speed more is.
        return draft.plan(queue, objective=-speed, shown=shown)
