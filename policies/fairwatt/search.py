"""Schedules are built along an order of jobs, at several rents, and the cheapest is kept.

The first ones know no rent: one leaves running jobs what they hold, one does not. Then rents for
GPU time, raised where too many want it, make jobs lean where GPUs are scarce. At last jobs that
came off badly are moved forward one by one.

Where nobody has a choice and every hour costs the same, the order of urgency is shortest first by
weight, which is hard to beat: what a search finds there is how slots round. Then it is kept, and
where stopping loses nothing it alone says who runs.
"""

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from policies.bench.compiled import compiled
from policies.contract.columns import F64, I64, Bool
from policies.fairwatt import kernel as plain_kernel
from policies.fairwatt.arrays import Made
from policies.fairwatt.bound import Rents
from policies.fairwatt.problem import FairwattProblem

# How far ahead of its due date a job gains urgency, in mean run times (Vepsalainen and Morton's
# apparent tardiness cost uses 1 to 4).
LOOK_AHEAD = 2.0
# Jobs come one after the other and leave room to the later ones: half the rent may do.
SHARES = (0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Most steps of the rents and most jobs moved forward, within so many jobs placed in all."""

    iterations: int
    promotions: int
    evaluations: int

    def steps(self, jobs: int) -> int:
        """At least one: without rents a long queue is planned far too lavishly."""
        passes = self.evaluations // max(jobs, 1)
        return min(self.iterations, max(1, passes // (1 + len(SHARES))))

    def moves(self, jobs: int) -> int:
        passes = self.evaluations // max(jobs, 1) - self.steps(jobs) * (1 + len(SHARES))
        return max(0, min(self.promotions, passes))


@dataclass(frozen=True, slots=True, eq=False)
class SlotSchedule:
    order: I64
    made: Made
    total: float
    reserve: bool
    """Whether running jobs kept what they hold."""
    rents: F64

    def but(self, chosen: I64, slot: I64) -> "SlotSchedule":
        """With other ways and starts for the present; its money is still the plan's."""
        return replace(self, made=self.made._replace(chosen=chosen, slot=slot))


def search(
    problem: FairwattProblem, budget: Budget, *, preempt: bool, kernel: ModuleType | None = None
) -> SlotSchedule:
    """`kernel` is the compiled one unless a test brings its twin."""
    code, count = kernel or compiled(plain_kernel), len(problem.rows)
    rents = Rents(problem, code)
    order = by_value(problem, urgency(problem))
    only_order = problem.only_order()
    if only_order and preempt and problem.stops_freely():
        return construct(code, problem, order, rents.until(), reserve=False)
    best = construct(code, problem, order, rents.until(), reserve=True)
    reserve = not (preempt and bool((problem.wants.held >= 0).any()))
    if not reserve:
        best = _cheaper(best, construct(code, problem, order, rents.until(), reserve=False))
    if only_order:
        return best
    for _ in range(budget.steps(count)):
        if not rents.step(best.total):
            break
        until = rents.until()
        for share in SHARES:
            best = _cheaper(best, construct(code, problem, order, share * until, reserve=reserve))
    return _promoted(code, problem, best, rents, budget.moves(count))


def _promoted(
    code: ModuleType, problem: FairwattProblem, best: SlotSchedule, rents: Rents, moves: int
) -> SlotSchedule:
    """With the jobs that lost most against being alone moved forward, where that pays."""
    if not moves or not len(best.order):
        return best
    regret = best.made.cost - rents.alone
    for job in by_value(problem, regret)[:moves].tolist():
        at = int(np.flatnonzero(best.order == job)[0])
        if regret[job] <= 0 or not at:
            continue
        order = np.insert(np.delete(best.order, at), at // 2, job)
        best = _cheaper(best, _rebuilt(code, problem, best, order, at // 2))
    return best


def construct(
    code: ModuleType, problem: FairwattProblem, order: I64, rents: F64, *, reserve: bool
) -> SlotSchedule:
    """Jobs in their order, each where it costs least with its rent."""
    count = len(problem.rows)
    ready: Bool = np.zeros(count, np.bool_)
    made = Made(np.full(count, -1), np.zeros(count, np.int64), np.zeros(count), ready)
    return _rebuilt(code, problem, SlotSchedule(order, made, np.inf, reserve, rents), order, 0)


def _rebuilt(
    code: ModuleType, problem: FairwattProblem, base: SlotSchedule, order: I64, settled: int
) -> SlotSchedule:
    """Along another order, of which the first `settled` jobs keep what they have."""
    made = Made._make(values.copy() for values in base.made)
    total = code.construct(
        problem.ways, problem.wants, problem.ahead, order, settled, base.reserve, base.rents, made
    )
    return SlotSchedule(order, made, float(total), base.reserve, base.rents)


def _cheaper(best: SlotSchedule, found: SlotSchedule) -> SlotSchedule:
    return found if found.total < best.total else best


def by_value(problem: FairwattProblem, value: F64) -> I64:
    """Planned jobs, the highest first; alike ones by submission, however the rows are sorted."""
    jobs, rows = problem.snapshot.jobs, problem.rows
    return np.lexsort((jobs.id[rows], jobs.submitted_s[rows], -value))


def urgency(problem: FairwattProblem) -> F64:
    """Money lost per second of delay and GPU-second of work: apparent tardiness cost.

    A job that runs counts as further on than it is, so that whoever takes its place gains more than
    stopping and restarting it costs; its leanest way has the restart in it already.
    """
    ahead_s = 2 * problem.change_s * problem.ways.least(problem.ways.gpus.astype(np.float64))
    found = pressing(problem) / np.maximum(problem.gpu_s() - ahead_s, 1.0)
    # Alike jobs are alike however their times were summed up.
    return found.astype(np.float32).astype(np.float64)


def pressing(problem: FairwattProblem) -> F64:
    """Money that a job loses per second of delay, of its lateness the more the nearer it is."""
    usual_s, wants = problem.usual_s, problem.wants
    mean_s = float(usual_s.mean()) if len(usual_s) else 1.0
    slack_s = np.maximum(wants.due_s - usual_s, 0.0)
    near = np.exp(-np.minimum(slack_s / (LOOK_AHEAD * max(mean_s, 1.0)), 700.0))
    return np.asarray(wants.wait + wants.omega * near + 1e-12, np.float64)
