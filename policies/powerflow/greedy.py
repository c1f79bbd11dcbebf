"""Who gets what: a footing for every job that fits, then the increments worth most, one by one."""

import heapq
from collections.abc import Callable, Sequence

from policies.bench.ladder import Ladder
from policies.powerflow.candidates import Candidate
from policies.powerflow.pools import Pool, PoolRoom

Growth = Callable[[PoolRoom, Sequence[Candidate]], None]
"""Hands what is left to jobs that have a footing."""


def footing(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    """The fewest GPUs at the most efficient clock, in order; what does not fit waits.

    Of a partition in which nobody fits so, the first that fits at its least watts runs like that.
    """
    for one in candidates:
        if one.movable:
            _settle(room, one, lambda ladder: ladder.efficient[0])
        else:
            _keep(room, one)
    busy = {one.place.partition for one in candidates if one.rung >= 0}
    for one in candidates if room.limited else ():
        if one.place.partition not in busy and _settle(room, one, _frugal):
            busy.add(one.place.partition)


def _settle(room: PoolRoom, one: Candidate, clock_of: Callable[[Ladder], int]) -> bool:
    for pool, ladder in one.options:
        clock = clock_of(ladder)
        if room.take(pool, one.tenant, ladder.counts[0], _watts(room, pool, ladder, 0, clock)):
            one.pool, one.rung, one.clock = pool, 0, clock
            return True
    return False


def _frugal(ladder: Ladder) -> int:
    """The clock of least watts on the fewest GPUs."""
    return min(range(len(ladder.watts[0])), key=ladder.watts[0].__getitem__)


def _keep(room: PoolRoom, one: Candidate) -> None:
    """A job that stays where it is draws its watts in any case: too few of them, the least."""
    pool, ladder = one.place, one.ladder
    one.rung, one.clock = 0, ladder.efficient[0]
    if not room.take(pool, one.tenant, 0, _watts(room, pool, ladder, 0, one.clock)):
        one.clock = _frugal(ladder)
        room.draw(pool, _watts(room, pool, ladder, 0, one.clock))


def marginal(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    """More GPUs or a higher clock, whichever gains most time for its energy, until none fits.

    PoolRoom only shrinks, so a step that does not fit once never fits from the same configuration:
    every job has one step in the heap, and the next best once that one does not fit.
    """
    heap: list[tuple[float, float, int, int]] = []
    for at, one in enumerate(candidates):
        if one.rung >= 0:
            _push(heap, at, one, 0)
    while heap:
        *_, at, tried = heapq.heappop(heap)
        one = candidates[at]
        to = one.ladder.steps(one.rung, one.clock)[tried]
        fits = step(room, one, to.rung, to.clock)
        _push(heap, at, one, 0 if fits else tried + 1)


def _push(heap: list[tuple[float, float, int, int]], at: int, one: Candidate, tried: int) -> None:
    steps = one.ladder.steps(one.rung, one.clock)
    if tried < len(steps):
        best = steps[tried]
        heapq.heappush(heap, (best.order, best.gain_order, at, tried))


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
