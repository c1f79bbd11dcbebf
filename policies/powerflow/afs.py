"""AFS-style growth (Hwang et al., NSDI 2021): the next GPU goes where it shortens the mean most.

Of two jobs the shorter one gets it, unless the longer one makes more of it. Counts double, so a
step is judged by its gain per GPU.
"""

from collections.abc import Sequence

from policies.powerflow.candidates import Candidate
from policies.powerflow.greedy import step
from policies.powerflow.pools import PoolRoom


def future_share(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    growing = [one for one in candidates if one.rung >= 0 and one.movable and _per_gpu(one) > 0]
    while growing:
        best = growing[0]
        for other in growing[1:]:
            best = _prefer(best, other)
        if not step(room, best, best.rung + 1, best.clock) or _per_gpu(best) <= 0:
            growing.remove(best)


def _per_gpu(one: Candidate) -> float:
    """Throughput gained per GPU of the next doubling; 0 past the peak."""
    ladder, rung = one.ladder, one.rung
    if rung + 1 >= len(ladder.counts):
        return 0.0
    gained = ladder.throughput[rung + 1][one.clock] - ladder.throughput[rung][one.clock]
    return gained / ladder.counts[rung]


def _prefer(one: Candidate, other: Candidate) -> Candidate:
    short, long = one, other
    if one.left_s(one.rung, one.clock) > other.left_s(other.rung, other.clock):
        short, long = other, one
    more_short, more_long = _per_gpu(short), _per_gpu(long)
    now_short = short.ladder.throughput[short.rung][short.clock]
    then_long = long.ladder.throughput[long.rung][long.clock] + more_long
    return long if more_long / then_long > more_short / now_short else short
