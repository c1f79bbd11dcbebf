"""The ANDREAS policy and the first-principle methods: formulate, search, write down."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from policies.andreas.deferral import start_later_s
from policies.andreas.filling import fill_up
from policies.andreas.formulate import Formulated, formulate, weights
from policies.andreas.parameters import AndreasParameters, FirstPrincipleParameters
from policies.andreas.search import NodeSchedule, greedy, grown, search
from policies.andreas.target import Held, Target, held_pieces, target_of
from policies.andreas.target_writer import TargetWriter
from policies.bench.draft import PlanDraft
from policies.bench.drain import Takes
from policies.bench.expecting import expected
from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.bench.reservations import Reservations, reserve
from policies.bench.roster import (
    in_turn,
    just_started,
    lost_s,
    on_unready_node,
    startable,
    stoppable,
)
from policies.contract.columns import F64, I64, Bool
from policies.contract.plan import Plan
from policies.contract.snapshot import JobState, Snapshot
from policies.pricing.flat_price import flat_price
from policies.pricing.price_line import PriceLine, price_line

# Where a change costs time it must at least be for the better, or rounds would never settle.
LEAST_GAIN = 1e-9


class _Chosen(NamedTuple):
    """A schedule, and the running jobs that it may change."""

    formulated: Formulated
    schedule: NodeSchedule
    held: Held


class Andreas:
    work_conserving = False

    def __init__(self, parameters: AndreasParameters) -> None:
        self.parameters = parameters

    @property
    def minds_running(self) -> bool:
        return self.parameters.changes_running

    def plan(self, snapshot: Snapshot) -> Plan:
        line = price_line(snapshot, self.parameters.default_price_per_kwh)
        queue, later_s = self._queue(snapshot, line)
        reservations = reserve(
            snapshot, self.parameters.patience_s, willing=lambda rows: np.isnan(later_s[rows])
        )
        snapshot = reservations.seen
        chosen = self._choose(snapshot, queue, line)
        found, held = chosen.formulated, chosen.held if self.parameters.analyzer else {}
        target = target_of(found, chosen.schedule, held)
        return _written(
            chosen,
            target,
            found.rows[found.order()],
            later_s,
            reservations=reservations,
            for_tariff=lambda: self._for_tariff(reservations.whole, later_s),
        )

    def _for_tariff(self, snapshot: Snapshot, later_s: F64) -> Bool:
        """Of those put off, who would start now if all hours cost the same: planned once more."""
        put_off = ~np.isnan(later_s)
        if not put_off.any():
            return put_off
        starts = self.plan(flat_price(snapshot)).starts
        return put_off & np.isin(snapshot.jobs.id, [start.job for start in starts])

    def _queue(self, snapshot: Snapshot, line: PriceLine) -> tuple[I64, F64]:
        """Rows that may start now; per job row when it had better start, nan for at once."""
        queue, later_s = startable(snapshot), np.full(len(snapshot.jobs), np.nan)
        if line.flat or not self.parameters.most_deferral_s:
            return queue, later_s
        formulated = formulate(snapshot, queue, self.parameters, line)
        later_s[queue] = start_later_s(formulated, self.parameters)
        return queue[np.isnan(later_s[queue])], later_s

    def _choose(self, snapshot: Snapshot, queue: I64, line: PriceLine) -> _Chosen:
        """The best schedule; one that leaves running jobs alone unless the best saves enough."""
        parameters = self.parameters
        movable = self._movable(snapshot)
        if not len(movable):
            return self._search(snapshot, queue, line, {})
        rows = in_turn(snapshot, np.concatenate([queue, movable]))
        moving = self._search(snapshot, rows, line, held_pieces(snapshot, movable))
        if snapshot.hands_over and not parameters.switch_gain:
            return moving
        still = self._search(snapshot, queue, line, {})
        gain = still.schedule.value - moving.schedule.value
        worth = gain > max(parameters.switch_gain * abs(still.schedule.value), LEAST_GAIN)
        return moving if worth else still

    def _search(self, snapshot: Snapshot, rows: I64, line: PriceLine, held: Held) -> _Chosen:
        formulated = formulate(snapshot, rows, self.parameters, line)
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
        takes: Takes = "nodes" if parameters.exclusive else "gpus"
        reservations = reserve(snapshot, parameters.patience_s, takes=takes)
        snapshot = reservations.seen
        line = price_line(snapshot, parameters.default_price_per_kwh)
        formulated = formulate(snapshot, queue, parameters, line)
        order = np.argsort(self._key(snapshot)[queue], kind="stable")
        chosen = _Chosen(formulated, greedy(formulated, order), {})
        target = target_of(formulated, chosen.schedule, {})
        never_s = np.full(len(snapshot.jobs), np.nan)
        return _written(chosen, target, queue[order], never_s, reservations=reservations)

    def _key(self, snapshot: Snapshot) -> F64:
        jobs = snapshot.jobs
        if self.parameters.order == "fifo":
            return jobs.submitted_s
        if self.parameters.order == "edf":
            return jobs.deadline_s
        return -weights(snapshot, self.parameters)


def _written(
    chosen: _Chosen,
    target: Target,
    order: I64,
    later_s: F64,
    *,
    reservations: Reservations,
    for_tariff: Callable[[], Bool] | None = None,
) -> Plan:
    """The plan: entries, waits with their reasons, and what is expected to be paid."""
    formulated, snapshot = chosen.formulated, chosen.formulated.snapshot
    draft = PlanDraft(Ledger(snapshot, pack), reservations)
    TargetWriter(draft, chosen.held, order.tolist()).write(target)
    queue = order[snapshot.jobs.state[order] == JobState.QUEUED]
    if not formulated.parameters.exclusive:
        fill_up(draft, formulated, queue)
    placed = [row for row in draft.placed if row in target]
    run_s = _run_s(chosen, target, placed)
    paid = formulated.line.cost(0.0, run_s) * [target[row].watts for row in placed]
    weight = weights(snapshot, formulated.parameters)[placed]
    expecting = expected(draft, formulated.line, placed, run_s, weight)
    return draft.plan(
        queue,
        objective=chosen.schedule.value,
        shown={
            "energy_cost": float(paid.sum()),
            "tardiness_cost": float(sum(one.tardiness_cost for one in expecting)),
            "postponed": float(len(formulated.rows) - len(target)),
        },
        expected=expecting,
        until_s=snapshot.now_s + later_s,
        kept_back=~np.isnan(later_s),
        for_tariff=for_tariff,
    )


def _run_s(chosen: _Chosen, target: Target, rows: Sequence[int]) -> F64:
    """Of all that is left of jobs, from now on; also what they lose by being changed."""
    snapshot = chosen.formulated.snapshot
    kind, lost = snapshot.nodes.gpu_type, lost_s(snapshot)
    run_s = np.array([target[row].seconds for row in rows])
    for at, row in enumerate(rows):
        place, held = target[row], chosen.held.get(row)
        if held is not None and held[0] != place.node and held[1].bit_count() == place.gpus:
            # A configuration knows what moving loses only if type or count change.
            run_s[at] += float(lost[row]) if kind[held[0]] == kind[place.node] else 0.0
    return run_s
