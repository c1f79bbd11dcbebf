"""The search for a schedule: randomised constructions, then local search and path relinking.

The two follow-ups change the order of the jobs and the configurations they ask for first; every
neighbour is built by the same construction, so each is a schedule that keeps all limits.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np

from policies.andreas import kernel as plain_kernel
from policies.andreas.formulate import Formulated
from policies.andreas.parameters import AndreasParameters
from policies.andreas.problem import AndreasProblem, Elite, How, Scratch
from policies.bench.compiled import compiled
from policies.contract.columns import I64

_MASK64 = 2**64 - 1
# Neighbours judged per step of the local search, the most promising first.
NEIGHBOURS = 256


class NodeSchedule(NamedTuple):
    """Per job of the problem a configuration and a node, -1 for postponed."""

    value: float
    config_of: I64
    node_of: I64


class Construction(NamedTuple):
    """A schedule as the order and the wants that build it."""

    value: float
    order: I64
    wants: I64


def generator_state(seed: int) -> int:
    """A state of xorshift32 from any seed: splitmix64, folded, and never 0."""
    mixed = (seed + 0x9E3779B97F4A7C15) & _MASK64
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _MASK64
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _MASK64
    mixed ^= mixed >> 31
    return (mixed ^ mixed >> 32) & 0xFFFFFFFF or 1


def search(
    formulated: Formulated,
    parameters: AndreasParameters,
    seed: int,
    kernel: ModuleType | None = None,
) -> NodeSchedule:
    """`kernel` is the compiled one unless a test brings its twin."""
    builder, order = _ScheduleBuilder(formulated, kernel, generator_state(seed)), formulated.order()
    how = How(parameters.iterations, parameters.alpha, parameters.swap_bias, parameters.walks_on)
    size, jobs = max(parameters.path_relinking, 1), len(order)
    none = np.full(jobs, -1)
    elite = Elite(np.full(size, np.inf), np.zeros((size, jobs), np.int64), none, none.copy())
    value = builder.code.construct_many(builder.problem, builder.room, order, how, elite)
    best = NodeSchedule(value, elite.config_of, elite.node_of)
    if parameters.path_relinking > 1:
        best = builder.better(best, builder.relinked(elite))
    if parameters.local_search:
        start = elite.order[np.argmin(elite.value)]
        best = builder.better(best, builder.climbed(start, parameters.local_search))
    return best


def greedy(formulated: Formulated, order: I64, kernel: ModuleType | None = None) -> NodeSchedule:
    """The one schedule along an order."""
    return _ScheduleBuilder(formulated, kernel).built(order, np.full(len(order), -1))


def grown(
    formulated: Formulated, schedule: NodeSchedule, kernel: ModuleType | None = None
) -> NodeSchedule:
    """The schedule with idle GPUs handed to residents; its value stays that of the search."""
    builder = _ScheduleBuilder(formulated, kernel)
    builder.code.resume(builder.problem, builder.room, schedule.config_of, schedule.node_of)
    builder.code.grow(builder.problem, builder.room)
    return schedule._replace(config_of=builder.room.config_of)


class _ScheduleBuilder:
    """Builds and judges schedules of one problem."""

    def __init__(self, formulated: Formulated, kernel: ModuleType | None, state: int = 1) -> None:
        self.code = kernel or compiled(plain_kernel)
        self.problem = formulated.problem
        self.room = Scratch.of(self.problem, state)

    def built(self, order: I64, wants: I64) -> NodeSchedule:
        value = self.code.construct(self.problem, self.room, order, wants, 0.0)
        return NodeSchedule(float(value), self.room.config_of.copy(), self.room.node_of.copy())

    def better(self, best: NodeSchedule, found: Construction | None) -> NodeSchedule:
        if found is None or found.value >= best.value:
            return best
        return self.built(found.order, found.wants)

    def _best(self, orders: I64, wants: I64) -> Construction:
        values = np.empty(len(orders))
        self.code.judge(self.problem, self.room, orders, wants, values)
        at = int(np.argmin(values))
        return Construction(float(values[at]), orders[at], wants[at])

    def relinked(self, elite: Elite) -> Construction | None:
        """The best schedule on the paths between elite orders, from each to each better one."""
        ranked = np.argsort(elite.value, kind="stable")
        ranked = ranked[np.isfinite(elite.value[ranked])]
        best: Construction | None = None
        for target, guide in enumerate(ranked):
            for start in ranked[target + 1 :]:
                path = np.array(_path(elite.order[start], elite.order[guide]))
                if len(path):
                    found = self._best(path, np.full_like(path, -1))
                    best = found if best is None or found.value < best.value else best
        return best

    def climbed(self, order: I64, steps: int) -> Construction:
        """The best neighbour, and its best neighbour, until none is better."""
        wants = np.full(len(order), -1)
        built = self.built(order, wants)
        best = Construction(built.value, order, wants)
        for _ in range(steps):
            orders, wanted = _neighbours(self.problem, best, built)
            found = self._best(orders, wanted) if len(orders) else best
            if found.value >= best.value:
                break
            best, built = found, self.built(found.order, found.wants)
        return best


def _path(start: I64, goal: I64) -> list[I64]:
    """Orders between two, each with one job more where the goal has it."""
    order, steps = start.copy(), []
    where = np.argsort(order)
    for at, job in enumerate(goal.tolist()):
        here = int(where[job])
        if here == at:
            continue
        other = int(order[at])
        order[at], order[here] = job, other
        where[job], where[other] = at, here
        steps.append(order.copy())
    return steps


def _neighbours(
    problem: AndreasProblem, found: Construction, built: NodeSchedule
) -> tuple[I64, I64]:
    """Tardy before costly, postponed before running, GPUs doubled, halved or split anew."""
    scheduled = np.flatnonzero(built.config_of >= 0)
    postponed = np.flatnonzero((built.config_of < 0) & (problem.job_penalty > 0))
    config = built.config_of[scheduled]
    seconds = problem.config_s[config]
    late = problem.job_weight[scheduled] * np.maximum(seconds - problem.job_slack_s[scheduled], 0)
    money = problem.config_w[config] * seconds
    tardy = scheduled[np.argsort(-late, kind="stable")][: int((late > 0).sum())]
    costly = scheduled[np.argsort(-money, kind="stable")]
    hurting = postponed[np.argsort(-problem.job_penalty[postponed], kind="stable")]
    pairs = [*_pairs(tardy, costly), *_pairs(hurting, costly)]
    position = np.argsort(found.order)
    orders, wants = [], []
    for first, second in pairs[: NEIGHBOURS // 2]:
        order = found.order.copy()
        a, b = position[first], position[second]
        order[a], order[b] = order[b], order[a]
        orders.append(order)
        wants.append(found.wants)
    for changes in _resized(problem, built, costly.tolist())[: NEIGHBOURS // 2]:
        want = found.wants.copy()
        for job, other in changes:
            want[job] = other
        orders.append(found.order)
        wants.append(want)
    return np.array(orders, np.int64), np.array(wants, np.int64)


def _pairs(some: I64, others: I64) -> list[tuple[int, int]]:
    return [(a, b) for a in some[:16].tolist() for b in others[:8].tolist() if a != b]


_Changes = tuple[tuple[int, int], ...]


def _resized(problem: AndreasProblem, built: NodeSchedule, jobs: list[int]) -> list[_Changes]:
    """Jobs with twice or half their GPUs; on one node also one with more and one with fewer."""
    wider, narrower = [], []
    for job in jobs:
        now = int(built.config_of[job])
        gpus, kind = int(problem.config_gpus[now]), int(problem.config_type[now])
        for other in range(int(problem.first_config[job]), int(problem.first_config[job + 1])):
            there = int(problem.config_gpus[other])
            if problem.config_type[other] == kind and there == 2 * gpus:
                wider.append((job, other))
            elif problem.config_type[other] == kind and 2 * there == gpus:
                narrower.append((job, other))
    split: list[_Changes] = [
        (more, less)
        for more in wider
        for less in narrower
        if built.node_of[more[0]] == built.node_of[less[0]]
    ]
    return [*((change,) for change in (*wider, *narrower)), *split]
