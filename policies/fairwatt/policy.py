"""One objective in money: plan everybody ahead, do what is due now, say when the rest follows."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.expecting import expected
from policies.bench.machine_layout import LayoutCache
from policies.bench.placement import placing_ledger, takes_of
from policies.bench.power import budget_w
from policies.bench.reservations import Reservations, reserve
from policies.bench.roster import startable
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs_table import NeedsTable
from policies.contract.columns import F64, Bool
from policies.contract.plan import Expected, Plan
from policies.contract.snapshot import Snapshot
from policies.fairwatt.bound import lower_bound
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.peak import PeakChoice, choose
from policies.fairwatt.plan_writer import PlanWriter
from policies.fairwatt.problem import FairwattProblem, problem_of
from policies.fairwatt.search import Budget, SlotSchedule
from policies.fairwatt.share_tuner import ShareTuner
from policies.fairwatt.sharing import share_out
from policies.fairwatt.speeds import sensitive
from policies.fairwatt.switching import switch_nodes
from policies.fairwatt.unhindered import start_unhindered
from policies.fairwatt.widths import widened
from policies.pricing.flat_price import flat_price
from policies.pricing.price_line import price_line


class Fairwatt:
    work_conserving = False
    minds_running = True

    def __init__(self, parameters: FairwattParameters) -> None:
        self.parameters = parameters
        self._layouts = LayoutCache()

    def plan(self, snapshot: Snapshot) -> Plan:
        given, reservations = self.parameters, self._reservations(snapshot)
        snapshot = reservations.seen
        needs_table = self._needs_of(snapshot)
        problem = problem_of(snapshot, given, needs_table)
        found = choose(
            problem,
            Budget(given.iterations, given.promotions, given.evaluations),
            preempt=given.preempt,
            most_s=given.max_shift_s,
        )
        within = found.problem
        schedule = widened(within if found.capped else problem, found.schedule)
        ledger = placing_ledger(within.snapshot, given.placement, self._layouts)
        tuner = (
            None
            if needs_table is None
            else ShareTuner(ledger, JobShares(within.snapshot, needs_table))
        )
        draft = PlanDraft(ledger, reservations)
        writer = PlanWriter(
            within,
            draft,
            preempt=given.preempt and not found.capped,
            most=given.max_preemptions,
            tuner=tuner,
        )
        writer.write(schedule)
        if tuner is not None:
            share_out(
                within, schedule, draft, tuner, hysteresis=given.hysteresis, moves=given.resize
            )
        switch_nodes(problem, schedule, draft, writer.lacks, sleeps=given.switches)
        until_s, kept_back = _starts_later(found, schedule)
        plan = draft.plan(
            within.rows[schedule.order[within.wants.held[schedule.order] < 0]],
            objective=found.total,
            shown=_shown(found),
            expected=self._expected(problem, draft, writer.started),
            until_s=until_s,
            kept_back=kept_back,
            for_tariff=lambda: self._for_tariff(reservations.whole, kept_back),
            only_room=lambda: self._only_room(reservations.whole),
            lent=False,
        )
        if within is not problem:
            # A peak is no power budget: whoever waits below it, waits for another reason.
            ledger.watts_left += budget_w(snapshot) - budget_w(within.snapshot)
        return plan

    def _expected(
        self, problem: FairwattProblem, draft: PlanDraft, started: Mapping[int, int]
    ) -> tuple[Expected, ...]:
        """By the prices that are billed: carbon is weighed, not paid for."""
        given, line = self.parameters, problem.line
        if given.carbon_price_per_kg:
            line = price_line(problem.snapshot, given.assumed_price_per_kwh)
        jobs, ways = list(started), list(started.values())
        rows: list[int] = problem.rows[jobs].tolist()
        run_s, weight = problem.ways.run_s[ways], problem.wants.omega[jobs]
        return expected(draft, line, rows, run_s, weight)

    def _for_tariff(self, snapshot: Snapshot, kept_back: Bool) -> Bool:
        """Of those kept back, who would start now if all hours cost the same: planned once more."""
        if not kept_back.any():
            return kept_back
        starts = self.plan(flat_price(snapshot)).starts
        return kept_back & np.isin(snapshot.jobs.id, [start.job for start in starts])

    def _only_room(self, snapshot: Snapshot) -> Bool:
        found, rows = np.zeros(len(snapshot.jobs), np.bool_), startable(snapshot)
        found[rows] = start_unhindered(snapshot, self.parameters, rows)
        return found

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        """Of the problem that was planned, in which nodes may be kept for somebody."""
        seen = self._reservations(snapshot).seen
        return lower_bound(problem_of(seen, self.parameters), objective)

    def _reservations(self, snapshot: Snapshot) -> Reservations:
        given = self.parameters
        return reserve(
            snapshot,
            given.patience_s,
            takes=takes_of(given.placement),
            wakes=given.switches,
            willing=partial(start_unhindered, snapshot, given),
        )

    def _needs_of(self, snapshot: Snapshot) -> NeedsTable | None:
        """None where nothing is known about CPUs and memory: then jobs get what they state."""
        return self._layouts.needs_table(snapshot) if sensitive(snapshot) else None


def _starts_later(found: PeakChoice, schedule: SlotSchedule) -> tuple[F64, Bool]:
    """By job row: when a planned job starts, and whether it waits for a better hour till then."""
    problem, made = found.problem, schedule.made
    snapshot, edges_s = problem.snapshot, problem.ahead.edges_s
    known = (made.slot > 0) & (made.slot < len(edges_s) - 1)
    until_s = np.full(len(snapshot.jobs), np.nan)
    until_s[problem.rows[known]] = snapshot.now_s + edges_s[made.slot[known]]
    # Who could have started and was not, waits for a better hour, if hours differ at all.
    kept = made.ready & (not problem.line.flat)
    kept |= found.kept_back & bool(len(snapshot.prices))
    kept_back = np.zeros(len(snapshot.jobs), np.bool_)
    kept_back[problem.rows] = known & kept
    return until_s, kept_back


def _shown(found: PeakChoice) -> dict[str, float]:
    shown = {"planned_cost": found.total}
    if found.problem.draw is not None:
        shown["demand_charge"] = found.charge
    return shown
