"""One objective in money: plan everybody ahead, do what is due now, say when the rest follows."""

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.machine_layout import LayoutCache
from policies.bench.placement import placing_ledger
from policies.bench.power import budget_w
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
from policies.fairwatt.widths import widened


class Fairwatt:
    work_conserving = False
    minds_running = True

    def __init__(self, parameters: FairwattParameters) -> None:
        self.parameters = parameters
        # Kept from round to round only to spare work: no plan depends on what lies here.
        self._needs_table: NeedsTable | None = None
        self._layouts = LayoutCache()

    def plan(self, snapshot: Snapshot) -> Plan:
        given = self.parameters
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
        draft = PlanDraft(ledger)
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
        if given.switches:
            switch_nodes(problem, schedule, draft, writer.lacks)
        if within is not problem:
            # A peak is no power budget: whoever waits below it, waits for another reason.
            ledger.watts_left += budget_w(snapshot) - budget_w(within.snapshot)
        until_s, for_tariff = _starts_later(found, schedule)
        return draft.plan(
            within.rows[schedule.order[within.wants.held[schedule.order] < 0]],
            objective=found.total,
            shown=_shown(found),
            expected=tuple(_expected(problem, job, way) for job, way in writer.started.items()),
            until_s=until_s,
            for_tariff=for_tariff,
        )

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        return lower_bound(problem_of(snapshot, self.parameters), objective)

    def _needs_of(self, snapshot: Snapshot) -> NeedsTable | None:
        """None where nothing is known about CPUs and memory: then jobs get what they state."""
        if not sensitive(snapshot):
            return None
        if self._needs_table is None or not self._needs_table.serves(snapshot):
            self._needs_table = NeedsTable(snapshot)
        return self._needs_table


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
    for_tariff = np.zeros(len(snapshot.jobs), np.bool_)
    for_tariff[problem.rows] = known & kept
    return until_s, for_tariff


def _shown(found: PeakChoice) -> dict[str, float]:
    shown = {"planned_cost": found.total}
    if found.problem.draw is not None:
        shown["demand_charge"] = found.charge
    return shown


def _expected(problem: FairwattProblem, job: int, way: int) -> Expected:
    run_s, weight = float(problem.ways.run_s[way]), float(problem.wants.omega[job])
    energy = float(problem.ways.watts[way] * problem.line.cost(0.0, np.array(run_s)))
    late_s = max(run_s - float(problem.wants.due_s[job]), 0.0)
    job_id = int(problem.snapshot.jobs.id[problem.rows[job]])
    return Expected(job_id, run_s, energy, weight * late_s, weight)
