"""AFS-style growth (Hwang et al., NSDI 2021): the next GPU goes where it shortens the mean most.

Of two jobs the shorter one gets it, unless the longer one makes more of it. Counts double at least,
so a step is judged by its gain per GPU.
"""

from collections.abc import Sequence
from typing import NamedTuple

from policies.powerflow.candidates import Candidate
from policies.powerflow.greedy import step
from policies.powerflow.pools import PoolRoom


class _Growing(NamedTuple):
    """A job as it is, and the throughput it would gain per GPU; 0 past its peak."""

    job: Candidate
    left_s: float
    speed: float
    per_gpu: float

    @classmethod
    def of(cls, one: Candidate) -> "_Growing":
        ladder, rung, clock = one.ladder, one.rung, one.clock
        speed, wider = ladder.throughput[rung][clock], ladder.wider(rung, clock)
        per_gpu = 0.0
        if wider:
            more = ladder.counts[wider[-1]] - ladder.counts[rung]
            per_gpu = (ladder.throughput[wider[-1]][clock] - speed) / more
        return cls(one, one.left_s(rung, clock), speed, per_gpu)


def future_share(room: PoolRoom, candidates: Sequence[Candidate]) -> None:
    have = [_Growing.of(one) for one in candidates if one.rung >= 0 and one.movable]
    growing = [one for one in have if one.per_gpu > 0]
    while growing:
        at = 0
        for other in range(1, len(growing)):
            if _prefers_other(growing[at], growing[other]):
                at = other
        grown = _widen(room, growing[at].job)
        growing[at] = _Growing.of(growing[at].job)
        if not grown or growing[at].per_gpu <= 0:
            del growing[at]


def _widen(room: PoolRoom, one: Candidate) -> bool:
    """To what gains most per GPU, or as far on the way there as there is room."""
    wider = one.ladder.wider(one.rung, one.clock)
    return any(step(room, one, rung, one.clock) for rung in reversed(wider))


def _prefers_other(one: _Growing, other: _Growing) -> bool:
    if one.left_s <= other.left_s:
        return other.per_gpu / (other.speed + other.per_gpu) > one.per_gpu / one.speed
    return one.per_gpu / (one.speed + one.per_gpu) <= other.per_gpu / other.speed
