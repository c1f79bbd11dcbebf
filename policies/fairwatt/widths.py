"""How many GPUs elastic jobs have now: every job the count it wants, as far as there are GPUs.

A schedule gives a job one way until its end. A job that can grow later should rather begin lean
than wait, and one that runs may share until others have gone. Alone, a job wants the count at which
energy, waiting and lateness cost least. Where not all wants fit, GPUs go where they save most, and
work of short jobs saves more, since whoever ends early leaves room to all others: by the weights of
heSRPT (Berg, Vesilo and Harchol-Balter, 2020), which are optimal for jobs of one speedup.
"""

import heapq
from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64, I64
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import SlotSchedule, by_value, pressing, urgency

# Elasticities beyond these make the weights all alike, or the shortest job take everything.
LEAST_ELASTIC, MOST_ELASTIC = 0.1, 0.9


class Steps(NamedTuple):
    """Ragged: elastic job `e` has the counts `first[e]:first[e + 1]`, fewest GPUs first.

    Each count is in its cheapest `way` of the job's pool; `speed` is over that on the fewest GPUs.
    `wanted` is the count that costs least.
    """

    job: I64
    first: I64
    way: I64
    gpus: I64
    speed: F64
    wanted: I64


def widened(problem: FairwattProblem, schedule: SlotSchedule) -> SlotSchedule:
    """The schedule with other ways for elastic jobs, and a start for those that were to wait."""
    steps = steps_of(problem, schedule)
    if not len(steps.job):
        return schedule
    ways, made = problem.ways, schedule.made
    chosen, slot = made.chosen.copy(), made.slot.copy()
    others = np.setdiff1d(np.flatnonzero(slot == 0), steps.job)
    free = problem.ahead.free[:, 0].astype(np.int64)
    np.subtract.at(free, ways.pool[chosen[others]], ways.gpus[chosen[others]])
    spare_w = float(problem.ahead.power[0] - ways.watts[chosen[others]].sum())
    given = _HandOut(problem, steps, free, spare_w).run()
    runs = given >= 0
    chosen[steps.job[runs]] = steps.way[given[runs]]
    slot[steps.job[runs]] = 0
    slot[steps.job[~runs]] = np.maximum(slot[steps.job[~runs]], 1)
    return schedule.but(chosen, slot)


def steps_of(problem: FairwattProblem, schedule: SlotSchedule) -> Steps:
    """Of jobs of several counts whose time is worth something and that wait for no better hour."""
    ways, wants, made = problem.ways, problem.wants, schedule.made
    shifted = (wants.held < 0) & (made.slot > 0) & made.ready
    playing = (wants.wait > 0) & ~shifted
    job = problem.ways.job()
    way = np.flatnonzero(playing[job] & (ways.pool == ways.pool[made.chosen][job]))
    cost = problem.alone(way, job[way])
    order = np.lexsort((cost, ways.gpus[way], job[way]))
    way, cost = way[order], cost[order]
    changes = (np.diff(job[way], prepend=-1) != 0) | (np.diff(ways.gpus[way], prepend=-1) != 0)
    way, cost = way[changes], cost[changes]
    several = np.bincount(job[way], minlength=len(problem.rows)) > 1
    way, cost = way[several[job[way]]], cost[several[job[way]]]
    found, first = np.unique(job[way], return_index=True)
    least = np.minimum.reduceat(cost, first) if len(first) else cost
    length = np.diff(np.append(first, len(way)))
    best = np.flatnonzero(cost == np.repeat(least, length))
    return Steps(
        job=found,
        first=np.append(first, len(way)),
        way=way,
        gpus=ways.gpus[way],
        speed=ways.run_s[np.repeat(way[first], length)] / ways.run_s[way],
        # Of equals the leanest.
        wanted=best[np.searchsorted(best, first)],
    )


class _HandOut:
    """Jobs get their fewest GPUs by urgency, then the steps that are worth most, one by one."""

    def __init__(self, problem: FairwattProblem, steps: Steps, free: I64, spare_w: float) -> None:
        ways, job = problem.ways, steps.job
        self._free: list[int] = free.tolist()
        self._spare_w = spare_w
        self._first: list[int] = steps.first.tolist()
        self._wanted: list[int] = steps.wanted.tolist()
        self._speed: list[float] = steps.speed.tolist()
        self._gpus: list[int] = steps.gpus.tolist()
        self._watts: list[float] = ways.watts[steps.way].tolist()
        self._pool: list[int] = ways.pool[steps.way[steps.first[:-1]]].tolist()
        order = by_value(problem, urgency(problem))
        self._order: list[int] = np.searchsorted(job, order[np.isin(order, job)]).tolist()
        worth = short_first(problem.gpu_s()[job], steps)
        self._weight: list[float] = (pressing(problem)[job] * worth).tolist()
        self._given = [-1] * len(job)

    def run(self) -> I64:
        steps: list[tuple[float, int]] = []
        for one in self._order:
            at = self._first[one]
            if self._take(one, self._gpus[at], self._watts[at]):
                self._given[one] = at
                self._push(steps, one)
        while steps:
            _, one = heapq.heappop(steps)
            at = self._given[one]
            more_w = self._watts[at + 1] - self._watts[at]
            # Room only shrinks: what does not fit now never will.
            if self._take(one, self._gpus[at + 1] - self._gpus[at], more_w):
                self._given[one] = at + 1
                self._push(steps, one)
        return np.array(self._given, np.int64)

    def _push(self, steps: list[tuple[float, int]], one: int) -> None:
        at = self._given[one]
        if at >= self._wanted[one]:
            return
        gain = self._weight[one] * (self._speed[at + 1] - self._speed[at])
        heapq.heappush(steps, (-gain / (self._gpus[at + 1] - self._gpus[at]), one))

    def _take(self, one: int, gpus: int, watts: float) -> bool:
        pool = self._pool[one]
        if gpus > self._free[pool] or watts > max(self._spare_w, 0.0):
            return False
        self._free[pool] -= gpus
        self._spare_w -= watts
        return True


def short_first(left: F64, steps: Steps) -> F64:
    """What a unit of each job's work is worth to all of them: heSRPT's weights.

    With speed `k**p` on k GPUs, and the k-th largest of the jobs.
    """
    leanest, widest = steps.first[:-1], steps.first[1:] - 1
    gained = np.log(np.maximum(steps.speed[widest], 1.0))
    elastic = gained / np.log(steps.gpus[widest] / steps.gpus[leanest])
    p = float(np.clip(elastic.mean(), LEAST_ELASTIC, MOST_ELASTIC))
    rank = np.empty(len(left))
    rank[np.argsort(-left, kind="stable")] = np.arange(1, len(left) + 1)
    with np.errstate(divide="ignore"):
        share = np.where(rank > 1, 1 / ((rank / (rank - 1)) ** (1 / (1 - p)) - 1), 0.0)
    return np.asarray(rank * (1 + share) ** p - (rank - 1) * share**p, np.float64)
