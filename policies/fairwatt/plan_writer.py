"""A schedule becomes a draft: what starts now gets nodes, what should change is changed."""

from collections.abc import Iterator

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ask, RowPiece, overlap
from policies.bench.power import watts_at
from policies.bench.reach import shapes_of
from policies.bench.roster import lost_s
from policies.bench.shares.packing import Newcomer
from policies.bench.victims.less_urgent import LessUrgent
from policies.contract.plan import Move, Resize, Start
from policies.contract.snapshot import Snapshot
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import SlotSchedule, urgency
from policies.fairwatt.share_tuner import ShareTuner
from policies.fairwatt.switching import Lack


class PlanWriter:
    def __init__(
        self,
        problem: FairwattProblem,
        draft: PlanDraft,
        *,
        preempt: bool,
        most: int,
        tuner: ShareTuner | None = None,
    ) -> None:
        """With a `tuner` CPUs and memory go by sensitivity, else jobs get what they state."""
        self.problem = problem
        self.tuner = tuner
        self.snapshot: Snapshot = problem.snapshot
        self.draft = draft
        self.ledger = draft.ledger
        self.most = most if preempt else 0
        self.started: dict[int, int] = {}
        """Planned jobs, by the way in which they start."""
        self.lacks: list[Lack] = []
        self._asks: dict[tuple[int, int, int, int], Ask] = {}
        self._shapes, self._shape_of = shapes_of(self.snapshot, problem.rows)
        self._tenant: list[int] = self.snapshot.jobs.tenant[problem.rows].tolist()
        self._rows: list[int] = problem.rows.tolist()
        self._held_way: list[int] = problem.wants.held.tolist()
        self._pool: list[int] = problem.ways.pool.tolist()
        self._gpus: list[int] = problem.ways.gpus.tolist()
        self._kind: list[int] = problem.ways.gpu_type.tolist()
        self._clock_mhz: list[int] = problem.ways.clock_mhz.tolist()
        self._urgency: list[float] = urgency(problem).tolist()
        self._lost_s: list[float] = lost_s(self.snapshot)[problem.rows].tolist()

    def write(self, schedule: SlotSchedule) -> None:
        """What gives room back and what starts comes before what grows."""
        chosen, slot = schedule.made.chosen.tolist(), schedule.made.slot.tolist()
        waiting: list[int] = []
        growing: list[int] = []
        later: dict[int, LessUrgent] = {}
        for job in schedule.order.tolist():
            way, stay = chosen[job], self._held_way[job]
            if stay >= 0 and slot[job] > 0:
                there = later.setdefault(self._pool[stay], LessUrgent(self.ledger))
                there.add(job, self._held(job), self._lost_s[job], self._urgency[job])
            elif stay >= 0 and (way == stay or not self._worth_leaving(job, way)):
                continue
            elif stay >= 0 and self._gpus[way] > self._gpus[stay]:
                growing.append(job)
            elif stay >= 0:
                self._change(job, way)
            elif stay < 0 and slot[job] == 0 and not self._start(job, way):
                waiting.append(job)
        for job in waiting:
            victims = later.get(self._pool[chosen[job]])
            if not (victims and self._preempt(job, chosen[job], victims)):
                self._start_anyhow(job, chosen[job])
        for job in growing:
            self._grow(job, chosen[job])

    def _worth_leaving(self, job: int, way: int) -> bool:
        """A schedule may send a job elsewhere for others; then others must be worth stopping it."""
        stay = self._held_way[job]
        if self._pool[way] == self._pool[stay]:
            return True
        there, here = self.problem.alone(np.array([way, stay]), np.array([job, job])).tolist()
        return bool(there < here)

    def _grow(self, job: int, way: int) -> None:
        """To the count that was chosen, else as near to it as there is room."""
        stay = self._held_way[job]
        got = next((w for w in self._narrower(job, way, stay) if self._change(job, w)), stay)
        self._note_lack(job, way, self._gpus[got])

    def _narrower(self, job: int, way: int, above: int = -1) -> Iterator[int]:
        """The way itself, then those of fewer GPUs in its pool, down to more than `above` has."""
        ways, pool, gpus = self.problem.ways, self._pool, self._gpus
        yield way
        found: dict[int, int] = {}
        for other in range(int(ways.first[job]), int(ways.first[job + 1])):
            if pool[other] != pool[way] or gpus[other] >= gpus[way]:
                continue
            # The quickest comes first; the clock that was chosen is the one to keep.
            if gpus[other] not in found or self._clock_mhz[other] == self._clock_mhz[way]:
                found[gpus[other]] = other
        least = gpus[above] if above >= 0 else 0
        yield from (found[count] for count in sorted(found, reverse=True) if count > least)

    def _note_lack(self, job: int, way: int, got: int) -> None:
        """What nodes are to be woken for, unless a quota is what is in its way."""
        lacking = self._gpus[way] - got
        if lacking and self.ledger.types_within_quota(self._tenant[job], self._ask(job, way)):
            self.lacks.append(Lack(self._pool[way], lacking))

    def _start(self, job: int, way: int) -> bool:
        pieces = self._place(job, way)
        if pieces is None:
            return False
        self.draft.write(Start, self._rows[job], pieces, self._clock_mhz[way])
        self.started[job] = way
        return True

    def _place(self, job: int, way: int) -> list[RowPiece] | None:
        if self.tuner is not None:
            return self.tuner.place(self._newcomer(job, way, self.tuner))
        ask, tenant = self._ask(job, way), self._tenant[job]
        types = self.ledger.types_within_quota(tenant, ask)
        hold = self.ledger.try_place(ask, tenant, types) if types else None
        return None if hold is None else hold.pieces

    def _room(self, job: int, way: int) -> list[RowPiece] | None:
        """Where the job would go, with what residents can do without; nothing is taken."""
        ledger, ask = self.ledger, self._ask(job, way)
        kind = self._kind[way]
        if kind not in ledger.types_within_quota(self._tenant[job], ask):
            return None
        if self.tuner is not None:
            return self.tuner.packing.within_reach(self._newcomer(job, way, self.tuner), (kind,))
        ask.unfit, ask.epoch = 0, ledger.epoch
        return ledger.strategy(ledger, ask, ask.own[kind])

    def _start_anyhow(self, job: int, way: int) -> None:
        """Where no nodes have room for what was chosen: with fewer GPUs, or elsewhere, leanly."""
        got = next((w for w in self._narrower(job, way) if self._start(job, w)), -1)
        self._note_lack(job, way, self._gpus[got] if got >= 0 else 0)
        if got >= 0:
            return
        ways, pool = self.problem.ways, self._pool
        low, high = int(ways.first[job]), int(ways.first[job + 1])
        gpu_s = ways.run_s[low:high] * ways.gpus[low:high]
        seen: set[tuple[int, int]] = set()
        for at in np.argsort(gpu_s, kind="stable").tolist():
            shape = pool[low + at], self._gpus[low + at]
            tried = shape in seen or shape[0] == pool[way]
            if not tried and self._start(job, low + at):
                return
            seen.add(shape)

    def _ask(self, job: int, way: int) -> Ask:
        kind, gpus = self._kind[way], self._gpus[way]
        key = self._shape_of[job], kind, gpus, self._clock_mhz[way]
        if key not in self._asks:
            shape = self._shapes[key[0]]._replace(gpu_types=1 << kind, gpus=gpus)
            ask = self.ledger.ask(shape, like_job=self._rows[job])
            if ask.watts:
                ask.watts = self._watts(job, gpus, self._clock_mhz[way])
            self._asks[key] = ask
        return self._asks[key]

    def _newcomer(self, job: int, way: int, tuner: ShareTuner) -> Newcomer:
        ask, row = self._ask(job, way), self._rows[job]
        kind = self._kind[way]
        shape = self._shapes[self._shape_of[job]]._replace(gpu_types=1 << kind, gpus=ask.gpus)
        needs = tuner.roster.needs(row, ask.gpus)
        return Newcomer(row, ask.gpus, self._tenant[job], shape, needs, tuple(ask.watts))

    def _watts(self, job: int, gpus: int, clock_mhz: int) -> list[float]:
        """Per GPU, over GPU types."""
        row = np.array([self._rows[job]])
        each = watts_at(self.snapshot, row, np.array([gpus]), np.array([clock_mhz]))
        watts: list[float] = each[0].tolist()
        return watts

    def _change(self, job: int, way: int) -> bool:
        """Give a running job what was chosen; where that finds no room it keeps what it has."""
        ledger, held, stay = self.ledger, self._held(job), self._held_way[job]
        same_count = self._gpus[way] == self._gpus[stay]
        if same_count and self._kind[way] == self._kind[stay]:
            self._set_clock(job, way)
            return True
        self._give_back(job, held)
        pieces = self._place(job, way)
        if pieces is None:
            self._give_back(job, held, sign=-1)
            return False
        if not self.snapshot.hands_over:
            # GPUs that it leaves are free only once it has left them.
            left = [(node, mask & ledger.free[node], 0, 0) for node, mask, _, _ in held]
            ledger.take([piece for piece in left if piece[1]])
        self.draft.write(
            Move if same_count else Resize, self._rows[job], pieces, self._clock_mhz[way]
        )
        return True

    def _set_clock(self, job: int, way: int) -> None:
        clock, row = self._clock_mhz[way], self._rows[job]
        if clock == self.snapshot.jobs.clock_mhz[row] or self._touched(job):
            return
        watts = self._ask(job, way).watts
        gpu_w = watts[self._kind[way]] if watts else 0.0
        if self.draft.set_clock(row, gpu_w, clock):
            self._freeze(job)

    def _preempt(self, job: int, way: int, victims: LessUrgent) -> bool:
        """Stop jobs that should run later, if that makes a place."""
        room = self.most - len(self.draft.preempted)
        stopped = self._cheapest(job, way, victims) if room > 0 else []
        if not 0 < len(stopped) <= room:
            return False
        for one in stopped:
            self._give_back(one, self._held(one))
        found = self._room(job, way)
        spared = [one for one in stopped if not overlap(self._held(one), found or ())]
        for one in spared:
            self._give_back(one, self._held(one), sign=-1)
        if found is None:
            return False
        gone = [one for one in stopped if one not in spared]
        victims.remove(gone)
        self._write_preemption(job, way, gone, found)
        return True

    def _cheapest(self, job: int, way: int, victims: LessUrgent) -> list[int]:
        """What a job has given up of its CPUs is not there twice, unless all that it has is."""
        ask, kind = self._ask(job, way), self._kind[way]
        while True:
            stopped = victims.cheapest(self._urgency[job], ask.gpus, *self._widths(ask, kind))
            givers = [one for one in stopped if self._touched(one)]
            if not givers or self.snapshot.hands_over:
                return stopped
            victims.remove(givers)

    def _widths(self, ask: Ask, kind: int) -> tuple[int, int]:
        """GPUs of the widest node that the ask may use, and how many of these are empty."""
        gpus, free = self.ledger.gpus, self.ledger.free
        nodes = self.ledger.nodes_of(ask.own[kind])
        widest = max((gpus[node] for node in nodes), default=1)
        if ask.gpus <= widest:
            return widest, 0
        return widest, sum(free[node].bit_count() == widest for node in nodes)

    def _write_preemption(
        self, job: int, way: int, stopped: list[int], found: list[RowPiece]
    ) -> None:
        """Where GPUs change hands at once the job starts; elsewhere its place is kept for it."""
        for one in stopped:
            self.draft.preempt(self._rows[one], self._rows[job])
        if self.snapshot.hands_over and self._start(job, way):
            return
        for one in stopped:
            self._give_back(one, self._held(one), sign=-1)
            self._freeze(one)
        self.draft.keep(found, self._rows[job])

    def _give_back(self, job: int, held: list[RowPiece], sign: int = 1) -> None:
        """What a running job holds to the ledger, or with `sign` -1 back to the job."""
        self.draft.lift(self._rows[job], held, sign=sign)
        if self.tuner is not None:
            (self.tuner.leave if sign > 0 else self.tuner.restore)(self._rows[job])

    def _touched(self, job: int) -> bool:
        return self.tuner is not None and self.tuner.touched(self._rows[job])

    def _freeze(self, job: int) -> None:
        if self.tuner is not None:
            self.tuner.freeze(self._rows[job])

    def _held(self, job: int) -> list[RowPiece]:
        row = self._rows[job]
        return self.draft.held(row) if self.tuner is None else self.tuner.holdings[row].pieces
