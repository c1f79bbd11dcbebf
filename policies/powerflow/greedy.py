"""Who gets what: a footing for every job that fits, then the increments worth most, one by one."""

import heapq
from collections.abc import Callable, Sequence

from policies.bench.ladder import Ladder
from policies.powerflow.candidates import Candidate
from policies.powerflow.pools import Pool, PoolRoom

Growth = Callable[[PoolRoom, Sequence[Candidate]], None]
"""Hands what is left to jobs that have a footing."""


def footing(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    """The fewest GPUs at the most efficient clock, in order; what does not fit waits."""
    for one in candidates:
        if not one.movable:
            _keep(room, one)
            continue
        for pool, ladder in one.options:
            clock = ladder.efficient[0]
            if room.take(pool, one.tenant, ladder.counts[0], _watts(room, pool, ladder, 0, clock)):
                one.pool, one.rung, one.clock = pool, 0, clock
                break


def _keep(room: PoolRoom, one: Candidate) -> None:
    """A job that stays where it is draws its watts in any case: too few of them, the least."""
    pool, ladder = one.place, one.ladder
    one.rung, one.clock = 0, ladder.efficient[0]
    if not room.take(pool, one.tenant, 0, _watts(room, pool, ladder, 0, one.clock)):
        one.clock = min(range(len(ladder.watts[0])), key=ladder.watts[0].__getitem__)
        room.draw(pool, _watts(room, pool, ladder, 0, one.clock))


def marginal(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    """Twice the GPUs or the next clock, whichever gains most time for its energy, until none fits.

    PoolRoom only shrinks, so a step that does not fit once never fits from the same configuration.
    """
    heap: list[tuple[float, float, int, int, int]] = []
    for at, one in enumerate(candidates):
        if one.rung >= 0:
            _push(heap, at, one)
    while heap:
        *_, at, rung, clock = heapq.heappop(heap)
        one = candidates[at]
        stale = rung < one.rung or clock < one.clock or rung + clock != one.rung + one.clock + 1
        if not stale and step(room, one, rung, clock):
            _push(heap, at, one)


def _push(heap: list[tuple[float, float, int, int, int]], at: int, one: Candidate) -> None:
    for order, gain_order, rung, clock in one.ladder.steps(one.rung, one.clock):
        heapq.heappush(heap, (order, gain_order, at, rung, clock))


def step(room: PoolRoom, one: Candidate, rung: int, clock: int) -> bool:
    """Move a job to another configuration if there is room for the difference."""
    pool, ladder = one.place, one.ladder
    more = ladder.counts[rung] - ladder.counts[one.rung]
    watts = 0.0
    if room.limited:
        watts = _watts(room, pool, ladder, rung, clock)
        watts -= _watts(room, pool, ladder, one.rung, one.clock)
    if not room.take(pool, one.tenant, more, watts):
        return False
    one.rung, one.clock = rung, clock
    return True


def _watts(room: PoolRoom, pool: Pool, ladder: Ladder, rung: int, clock: int) -> float:
    return room.added_w(pool, ladder.counts[rung], ladder.watts[rung][clock])
