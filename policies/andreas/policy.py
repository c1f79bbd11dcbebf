"""The ANDREAS policy and the first-principle methods: formulate, search, write down."""

from typing import NamedTuple

import numpy as np

from policies.andreas.deferral import start_later_s
from policies.andreas.filling import fill_up
from policies.andreas.formulate import Formulated, formulate, weights
from policies.andreas.parameters import (
    AndreasParameters,
    CostParameters,
    FirstPrincipleParameters,
)
from policies.andreas.search import NodeSchedule, greedy, grown, search
from policies.andreas.target import HeldPiece, Place, Target, held_pieces, target_of
from policies.andreas.target_writer import TargetWriter
from policies.bench.draft import PlanDraft
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.bench.roster import (
    by_age,
    just_started,
    lost_s,
    on_unready_node,
    startable,
    stoppable,
)
from policies.contract.columns import F64, I64
from policies.contract.plan import Expected, Plan
from policies.contract.snapshot import JobState, Snapshot
from policies.pricing.price_line import PriceLine, price_line

# Where a change costs time it must at least be for the better, or rounds would never settle.
LEAST_GAIN = 1e-9


class _Chosen(NamedTuple):
    """A schedule, and the running jobs that it may change."""

    formulated: Formulated
    schedule: NodeSchedule
    held: dict[int, HeldPiece]


class Andreas:
    work_conserving = False

    def __init__(self, parameters: AndreasParameters) -> None:
        self.parameters = parameters

    @property
    def minds_running(self) -> bool:
        return self.parameters.changes_running

    def plan(self, snapshot: Snapshot) -> Plan:
        parameters = self.parameters
        line = price_line(snapshot, parameters.default_price_per_kwh)
        queue, later_s = self._queue(snapshot, line)
        chosen = self._choose(snapshot, queue, line)
        target = target_of(
            chosen.formulated, chosen.schedule, chosen.held if parameters.analyzer else None
        )
        writer = _Writer(snapshot, parameters, line)
        return writer.plan(chosen, target, later_s)

    def _queue(self, snapshot: Snapshot, line: PriceLine) -> tuple[I64, F64]:
        """Rows that may start now; per job row when it had better start, nan for now."""
        queue, later_s = startable(snapshot), np.full(len(snapshot.jobs), np.nan)
        if line.flat or not self.parameters.most_deferral_s:
            return queue, later_s
        formulated = self._formulate(snapshot, queue, line)
        later_s[queue] = start_later_s(formulated, line, self.parameters)
        return queue[np.isnan(later_s[queue])], later_s

    def _formulate(self, snapshot: Snapshot, rows: I64, line: PriceLine) -> Formulated:
        return formulate(snapshot, rows, self.parameters, line)

    def _choose(self, snapshot: Snapshot, queue: I64, line: PriceLine) -> _Chosen:
        """The best schedule; one that leaves running jobs alone unless the best saves enough."""
        parameters = self.parameters
        movable = self._movable(snapshot)
        if not len(movable):
            return self._search(snapshot, queue, line, {})
        rows = by_age(snapshot, np.concatenate([queue, movable]))
        moving = self._search(snapshot, rows, line, held_pieces(snapshot, movable))
        if snapshot.hands_over and not parameters.switch_gain:
            return moving
        still = self._search(snapshot, queue, line, {})
        gain = still.schedule.value - moving.schedule.value
        worth = gain > max(parameters.switch_gain * abs(still.schedule.value), LEAST_GAIN)
        return moving if worth else still

    def _search(
        self, snapshot: Snapshot, rows: I64, line: PriceLine, held: dict[int, HeldPiece]
    ) -> _Chosen:
        formulated = self._formulate(snapshot, rows, line)
        schedule = search(formulated, self.parameters, snapshot.seed)
        # What may not be changed later would keep what it was given only because nobody asked.
        if self.parameters.post_process and self.parameters.changes_running:
            schedule = grown(formulated, schedule)
        return _Chosen(formulated, schedule, held)

    def _movable(self, snapshot: Snapshot) -> I64:
        """Running jobs on one ready node that may be stopped."""
        if not self.parameters.changes_running:
            return np.empty(0, np.int64)
        movable = stoppable(snapshot, self.parameters.min_run_s)
        movable &= (np.diff(snapshot.placements.offset) == 1) & ~on_unready_node(snapshot)
        if not snapshot.hands_over:
            # Where changes cost time, nobody is changed twice at one moment: so rounds settle.
            movable &= ~just_started(snapshot)
        return np.flatnonzero(movable)


class FirstPrinciple:
    """One order, the cheapest configuration in time or else the fastest, and nothing changed."""

    work_conserving = False
    minds_running = False

    def __init__(self, parameters: FirstPrincipleParameters) -> None:
        self.parameters = parameters

    def plan(self, snapshot: Snapshot) -> Plan:
        parameters, queue = self.parameters, startable(snapshot)
        line = price_line(snapshot, parameters.default_price_per_kwh)
        formulated = formulate(snapshot, queue, parameters, line)
        order = np.argsort(self._key(snapshot, queue), kind="stable")
        chosen = _Chosen(formulated, greedy(formulated, order), {})
        target = target_of(formulated, chosen.schedule, None)
        writer = _Writer(snapshot, parameters, line)
        return writer.plan(chosen, target, np.full(len(snapshot.jobs), np.nan), queue[order])

    def _key(self, snapshot: Snapshot, queue: I64) -> F64:
        jobs = snapshot.jobs
        if self.parameters.order == "fifo":
            return jobs.submitted_s[queue]
        if self.parameters.order == "edf":
            return jobs.deadline_s[queue]
        return -weights(snapshot, self.parameters)[queue]


class _Writer:
    """Writes the plan: entries, waits with their reasons, and what is expected to be paid."""

    def __init__(
        self,
        snapshot: Snapshot,
        parameters: CostParameters,
        line: PriceLine,
    ) -> None:
        self.snapshot = snapshot
        self.parameters = parameters
        self.line = line

    def plan(self, chosen: _Chosen, target: Target, later_s: F64, order: I64 | None = None) -> Plan:
        snapshot, formulated = self.snapshot, chosen.formulated
        if order is None:
            order = formulated.rows[formulated.order()]
        draft = PlanDraft(Ledger(snapshot, pack))
        TargetWriter(draft, chosen.held, order.tolist()).write(target)
        queue = order[snapshot.jobs.state[order] == JobState.QUEUED]
        if not self.parameters.exclusive:
            fill_up(draft, formulated, queue)
        expected = tuple(
            self._expected(row, target[row], chosen.held.get(row))
            for row in draft.placed
            if row in target
        )
        return draft.plan(
            queue,
            objective=chosen.schedule.value,
            shown={
                "energy_cost": float(sum(one.energy_cost for one in expected)),
                "tardiness_cost": float(sum(one.tardiness_cost for one in expected)),
                "postponed": float(len(formulated.rows) - len(target)),
            },
            expected=expected,
            until_s=snapshot.now_s + later_s,
            for_tariff=~np.isnan(later_s),
        )

    def _expected(self, row: int, place: Place, held: HeldPiece | None) -> Expected:
        """Of all that is left of the job, from now on; also what it loses by being changed."""
        jobs = self.snapshot.jobs
        run_s = place.seconds + self._moving_s(row, place, held)
        late_s = max(self.snapshot.now_s + run_s - float(jobs.deadline_s[row]), 0.0)
        weight = float(weights(self.snapshot, self.parameters)[row])
        energy = place.watts * float(self.line.cost(0.0, np.array(run_s)))
        return Expected(int(jobs.id[row]), run_s, energy, weight * late_s, weight)

    def _moving_s(self, row: int, place: Place, held: HeldPiece | None) -> float:
        """What moving loses: a configuration knows of it only if type or count change."""
        if held is None or held.node == place.node or held.mask.bit_count() != place.gpus:
            return 0.0
        kind = self.snapshot.nodes.gpu_type
        alike = kind[held.node] == kind[place.node]
        return float(lost_s(self.snapshot)[row]) if alike else 0.0
