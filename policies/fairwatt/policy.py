"""One objective in money: plan everybody ahead, do what is due now, say when the rest follows."""

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.machine_layout import LayoutCache
from policies.bench.placement import PLACEMENTS
from policies.bench.power import budget_w
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs_table import NeedsTable
from policies.contract.plan import Expected, Explained, Plan
from policies.contract.snapshot import JobState, Snapshot
from policies.explain.waiting import Left, explain
from policies.fairwatt.bound import lower_bound
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.peak import PeakChoice, choose
from policies.fairwatt.plan_writer import Entries, PlanWriter
from policies.fairwatt.problem import FairwattProblem, problem_of
from policies.fairwatt.search import Budget, SlotSchedule
from policies.fairwatt.share_tuner import ShareTuner
from policies.fairwatt.sharing import share_out
from policies.fairwatt.speeds import sensitive
from policies.fairwatt.switching import switched
from policies.fairwatt.widths import widened


class Fairwatt:
    def __init__(self, parameters: FairwattParameters) -> None:
        self.parameters = parameters
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
        given = self.parameters
        appetites = self._appetites_of(snapshot)
        problem = problem_of(snapshot, given, appetites)
        found = choose(
            problem,
            Budget(given.iterations, given.promotions, given.evaluations),
            preempt=given.preempt,
            most_s=given.max_shift_s,
        )
        within = found.problem
        schedule = widened(within if found.capped else problem, found.schedule)
        ledger = Ledger(
            within.snapshot,
            PLACEMENTS[given.placement],
            keeps_blocks=given.placement == "buddy",
            layouts=self._shelf,
        )
        seating = (
            None if appetites is None else ShareTuner(ledger, JobShares(within.snapshot, appetites))
        )
        entries = PlanWriter(
            within,
            ledger,
            preempt=given.preempt and not found.capped,
            most=given.max_preemptions,
            seating=seating,
        ).realise(schedule)
        if seating is not None:
            share_out(
                within,
                schedule,
                entries,
                seating,
                hysteresis=given.hysteresis,
                moves=given.resize,
            )
        power = switched(problem, schedule, ledger, entries.lacks) if given.switches else ()
        if within is not problem:
            # A peak is no power budget: whoever waits below it, waits for another reason.
            ledger.watts_left += budget_w(snapshot) - budget_w(within.snapshot)

        def say_why() -> Explained:
            return explain(ledger, ledger.atlas, left(found, schedule, entries))

        return Plan(
            starts=tuple(entries.starts),
            preempts=tuple(entries.preempts),
            moves=tuple(entries.moves),
            resizes=tuple(entries.resizes),
            clocks=tuple(entries.clocks),
            retunes=tuple(entries.retunes),
            power=power,
            explain=say_why,
            objective=found.total,
            shown=_shown(found),
            expected=tuple(_expected(problem, job, way) for job, way in entries.started.items()),
        )

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        return lower_bound(problem_of(snapshot, self.parameters), objective)

    def _appetites_of(self, snapshot: Snapshot) -> NeedsTable | None:
        """None where nothing is known about CPUs and memory: then jobs get what they state."""
        if not sensitive(snapshot):
            return None
        if self._appetites is None or not self._appetites.serves(snapshot):
            self._appetites = NeedsTable(snapshot)
        return self._appetites


def left(found: PeakChoice, schedule: SlotSchedule, entries: Entries) -> Left:
    """Jobs that wait: the planned ones with the time of their start, then those held back."""
    problem, made = found.problem, schedule.made
    snapshot, edges_s = problem.snapshot, problem.ahead.edges_s
    queued = schedule.order[problem.wants.held[schedule.order] < 0]
    waits = ~np.isin(queued, list(entries.started))
    jobs, slot = queued[waits], made.slot[queued[waits]]
    known = (slot > 0) & (slot < len(edges_s) - 1)
    until_s = np.where(known, snapshot.now_s + edges_s[slot], np.nan)
    # Who could have started and was not, waits for a better hour, if hours differ at all.
    for_tariff = known & made.ready[jobs] & (not problem.line.flat)
    for_tariff |= known & found.kept_back[jobs] & bool(len(snapshot.prices))
    others = np.flatnonzero(snapshot.jobs.state == JobState.QUEUED)
    others = others[~np.isin(others, problem.rows)]
    nobody = np.zeros(len(others), np.bool_)
    return Left(
        rows=np.concatenate([problem.rows[jobs], others]),
        ahead=np.concatenate([np.flatnonzero(waits), nobody]).astype(np.int32),
        claimed=np.concatenate([np.isin(jobs, list(entries.claimed)), nobody]),
        until_s=np.concatenate([until_s, np.full(len(others), np.nan)]),
        for_tariff=np.concatenate([for_tariff, nobody]),
    )


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
