"""A month's highest draw is paid for: raised freely, by half or not at all, the cheapest is kept.

Lateness is weighed like all else. Work that runs is never stopped for a peak.
"""

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from policies.contract.columns import Bool
from policies.fairwatt.draw import ClusterDraw, highest_w
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import Budget, SlotSchedule, search

# Means of a quarter of an hour are sums of floats.
ROUNDING = 1e-9
# Of what the free schedule would raise the peak by: a month begins without one, and all or nothing
# would then always be all.
RISES = (0.0, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class PeakChoice:
    """A schedule, and the problem as far as its entries may go; `charge` is for the peak."""

    problem: FairwattProblem
    schedule: SlotSchedule
    charge: float
    capped: bool
    kept_back: Bool
    """Jobs that would run now, were their watts for nothing."""

    @property
    def total(self) -> float:
        return self.schedule.total + self.charge


def choose(
    problem: FairwattProblem,
    budget: Budget,
    *,
    preempt: bool,
    most_s: float,
    kernel: ModuleType | None = None,
) -> PeakChoice:
    """Without a demand charge the schedule that is found, and nothing else is looked at.

    Nobody is kept back when it has been here for `most_s`.
    """
    free = search(problem, budget, preempt=preempt, kernel=kernel)
    nobody = np.zeros(len(problem.rows), np.bool_)
    draw = problem.draw
    if draw is None:
        return PeakChoice(problem, free, 0.0, capped=False, kept_back=nobody)
    top_w = _highest_w(problem, draw, free)
    best = PeakChoice(problem, free, _charge(problem, top_w), capped=False, kept_back=nobody)
    if _pressing(problem, free, most_s):
        return best
    floor_w = max(problem.snapshot.peak_w / problem.snapshot.pue, draw.now_w)
    if top_w <= floor_w * (1 + ROUNDING):
        return replace(best, problem=_capped(problem, draw, floor_w))
    for share in RISES:
        within = _capped(problem, draw, floor_w + share * (top_w - floor_w))
        low = search(within, budget, preempt=False, kernel=kernel)
        charge = _charge(problem, _highest_w(problem, draw, low))
        if low.total + charge < best.total:
            kept_back = (problem.wants.held < 0) & (free.made.slot == 0) & (low.made.slot > 0)
            best = PeakChoice(within, low, charge, capped=True, kept_back=kept_back)
    return best


def _highest_w(problem: FairwattProblem, draw: ClusterDraw, schedule: SlotSchedule) -> float:
    return highest_w(draw, problem.ways, problem.wants.held, problem.ahead, schedule.made)


def _charge(problem: FairwattProblem, top_w: float) -> float:
    """What the month's peak would cost more: a watt of a moment counts like one of a quarter."""
    snapshot = problem.snapshot
    rise_w = top_w * snapshot.pue * (1 - ROUNDING) - snapshot.peak_w
    return max(rise_w, 0.0) * snapshot.demand_price_per_w


def _capped(problem: FairwattProblem, draw: ClusterDraw, cap_w: float) -> FairwattProblem:
    """With no more watts than that, which is no less than what is drawn already."""
    snapshot, ways, held = problem.snapshot, problem.ways, problem.wants.held
    cap_w *= 1 + ROUNDING
    spare_w = cap_w - draw.now_w + float(ways.watts[held[held >= 0]].sum()) + draw.freed_w
    return replace(
        problem,
        snapshot=replace(snapshot, power_budget_w=min(snapshot.power_budget_w, cap_w)),
        ahead=problem.ahead._replace(power=np.minimum(problem.ahead.power, spare_w)),
    )


def _pressing(problem: FairwattProblem, free: SlotSchedule, most_s: float) -> bool:
    """Whether somebody is due now that has been here for so long."""
    snapshot = problem.snapshot
    due = (problem.wants.held < 0) & (free.made.slot == 0)
    here_s = snapshot.now_s - snapshot.jobs.submitted_s[problem.rows]
    return bool((due & (here_s >= most_s)).any())
