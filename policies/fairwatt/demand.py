"""A month's highest draw is paid for: one schedule may raise it, one may not, the cheaper is kept.

Nobody waits for a lower peak beyond its latest start, and work that runs is never stopped for it.
"""

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from policies.columns import F64, Bool
from policies.fairwatt.draw import Draw, highest_w
from policies.fairwatt.problem import Problem
from policies.fairwatt.search import Budget, Schedule, search

# Means of a quarter of an hour are sums of floats.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A schedule, and the problem as far as its entries may go; `charge` is for the peak."""

    problem: Problem
    schedule: Schedule
    charge: float
    capped: bool
    kept_back: Bool
    """Jobs that would run now, were their watts for nothing."""

    @property
    def total(self) -> float:
        return self.schedule.total + self.charge


def choose(
    problem: Problem, budget: Budget, *, preempt: bool, kernel: ModuleType | None = None
) -> Choice:
    """Without a demand charge the schedule that is found, and nothing else is looked at."""
    free = search(problem, budget, preempt=preempt, kernel=kernel)
    nobody = np.zeros(len(problem.rows), np.bool_)
    draw = problem.draw
    if draw is None:
        return Choice(problem, free, 0.0, capped=False, kept_back=nobody)
    paid = Choice(problem, free, _charge(problem, draw, free), capped=False, kept_back=nobody)
    if _pressing(problem, free):
        return paid
    within = _capped(problem, draw)
    if not paid.charge:
        return replace(paid, problem=within)
    low = search(within, budget, preempt=False, kernel=kernel)
    kept_back = (problem.wants.held < 0) & (free.made.slot == 0) & (low.made.slot > 0)
    spared = Choice(within, low, _charge(problem, draw, low), capped=True, kept_back=kept_back)
    return spared if spared.total < paid.total and not _too_late(problem, free, low) else paid


def _charge(problem: Problem, draw: Draw, schedule: Schedule) -> float:
    """What the month's peak would cost more: a watt of a moment counts like one of a quarter."""
    snapshot = problem.snapshot
    highest = highest_w(draw, problem.ways, problem.wants.held, problem.ahead, schedule.made)
    rise_w = highest * snapshot.pue * (1 - ROUNDING) - snapshot.peak_w
    return max(rise_w, 0.0) * snapshot.demand_price_per_w


def _capped(problem: Problem, draw: Draw) -> Problem:
    """With no more watts than the peak so far, or than what is drawn already."""
    snapshot, ways, held = problem.snapshot, problem.ways, problem.wants.held
    cap_w = max(snapshot.peak_w / snapshot.pue, draw.now_w) * (1 + ROUNDING)
    spare_w = cap_w - draw.now_w + float(ways.watts[held[held >= 0]].sum()) + draw.freed_w
    budget_w = min(snapshot.power_budget_w, cap_w)
    return replace(
        problem,
        snapshot=replace(snapshot, power_budget_w=budget_w),
        ahead=problem.ahead._replace(power=np.minimum(problem.ahead.power, spare_w)),
    )


def _pressing(problem: Problem, free: Schedule) -> bool:
    """Whether somebody is due now that must not be kept back any longer."""
    due = (problem.wants.held < 0) & (free.made.slot == 0)
    return bool((due & (problem.wants.latest_s <= 0)).any())


def _too_late(problem: Problem, free: Schedule, low: Schedule) -> bool:
    """Whether the lower peak makes somebody start beyond its latest start."""
    from_s, to_s = _starts_s(problem, free), _starts_s(problem, low)
    later = (problem.wants.held < 0) & (to_s > from_s)
    return bool((later & (to_s > problem.wants.latest_s)).any())


def _starts_s(problem: Problem, schedule: Schedule) -> F64:
    return problem.ahead.edges_s[schedule.made.slot]
