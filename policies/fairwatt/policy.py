"""One objective in money: plan everybody ahead, do what is due now, say when the rest follows."""

import numpy as np

from policies.fairwatt.bound import lower_bound
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import Problem, problem_of
from policies.fairwatt.realise import Entries, Realiser
from policies.fairwatt.search import Budget, Schedule, search
from policies.fairwatt.switching import switched
from policies.fairwatt.widths import widened
from policies.layout import Shelf
from policies.ledger import Ledger
from policies.placement import PLACEMENTS
from policies.plan import Expected, Explained, Plan
from policies.snapshot import JobState, Snapshot
from policies.waiting import Left, explain


class Fairwatt:
    def __init__(self, parameters: FairwattParameters) -> None:
        self.parameters = parameters
        self._shelf = Shelf()

    @property
    def work_conserving(self) -> bool:
        return False

    @property
    def minds_running(self) -> bool:
        return True

    def plan(self, snapshot: Snapshot) -> Plan:
        given = self.parameters
        problem = problem_of(snapshot, given)
        schedule = search(
            problem,
            Budget(given.iterations, given.promotions, given.evaluations),
            preempt=given.preempt,
        )
        schedule = widened(problem, schedule)
        ledger = Ledger(
            snapshot,
            PLACEMENTS[given.placement],
            keeps_blocks=given.placement == "buddy",
            shelf=self._shelf,
        )
        entries = Realiser(
            problem, ledger, preempt=given.preempt, most=given.max_preemptions
        ).realise(schedule)
        power = switched(problem, schedule, ledger, entries.lacks) if given.switches else ()

        def say_why() -> Explained:
            return explain(ledger, ledger.atlas, left(problem, schedule, entries))

        return Plan(
            starts=tuple(entries.starts),
            preempts=tuple(entries.preempts),
            moves=tuple(entries.moves),
            resizes=tuple(entries.resizes),
            clocks=tuple(entries.clocks),
            power=power,
            explain=say_why,
            objective=schedule.total,
            shown={"planned_cost": schedule.total},
            expected=tuple(_expected(problem, job, way) for job, way in entries.started.items()),
        )

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        return lower_bound(problem_of(snapshot, self.parameters), objective)


def left(problem: Problem, schedule: Schedule, entries: Entries) -> Left:
    """Jobs that wait: the planned ones with the time of their start, then those held back."""
    snapshot, made, edges_s = problem.snapshot, schedule.made, problem.ahead.edges_s
    queued = schedule.order[problem.wants.held[schedule.order] < 0]
    waits = ~np.isin(queued, list(entries.started))
    jobs, slot = queued[waits], made.slot[queued[waits]]
    known = (slot > 0) & (slot < len(edges_s) - 1)
    until_s = np.where(known, snapshot.now_s + edges_s[slot], np.nan)
    # Who could have started and was not, waits for a better hour, if hours differ at all.
    for_tariff = known & made.ready[jobs] & (not problem.line.flat)
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


def _expected(problem: Problem, job: int, way: int) -> Expected:
    run_s, weight = float(problem.ways.run_s[way]), float(problem.wants.omega[job])
    energy = float(problem.ways.watts[way] * problem.line.cost(0.0, np.array(run_s)))
    late_s = max(run_s - float(problem.wants.due_s[job]), 0.0)
    job_id = int(problem.snapshot.jobs.id[problem.rows[job]])
    return Expected(job_id, run_s, energy, weight * late_s, weight)
