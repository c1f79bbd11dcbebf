"""The configurations a job may run in: GPU counts that double, and clocks, with speed and watts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from policies.bench.power import busy_host_w
from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable, Snapshot

ClockName = Literal["chosen", "max", "efficient"]
"""Chosen job by job, always the highest, or the one of least joules per work (Zeus)."""


# Perfect scaling gains the same with every step, but for rounding.
_SAME = 1e-9


class Step(NamedTuple):
    """One increment of a job; steps sort by what should come first."""

    order: float
    """The priority, negated."""
    gain_order: float
    rung: int
    clock: int


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Work per second and watts per GPU over (rung, clock), lowest first on both axes.

    A clock of 0 MHz is an unset one. `efficient[rung]` is the clock of least joules per work, where
    `host_w`, the part of a host that goes with one GPU, counts as well.
    """

    counts: list[int]
    mhz: list[list[int]]
    throughput: list[list[float]]
    watts: list[list[float]]
    efficient: list[int]
    host_w: float = 0.0
    _rising: dict[int, list[int]] = field(default_factory=dict)
    _wider: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    _steps: dict[tuple[int, int], list[Step]] = field(default_factory=dict)

    def steps(self, rung: int, clock: int) -> list[Step]:
        """More GPUs at this clock and higher clocks on these GPUs, the best first."""
        found = self._steps.get((rung, clock))
        if found is None:
            clocks, speed = self.mhz[rung], self.throughput[rung]
            targets = [(wider, clock) for wider in self.wider(rung, clock)]
            targets += [(rung, higher) for higher in _climb(clocks, speed, clock, _rising(speed))]
            found = self._steps[rung, clock] = sorted(
                Step(-priority, -gain, *to)
                for to in targets
                for priority, gain in (self.priority(rung, clock, *to),)
            )
        return found

    def rising(self, clock: int) -> list[int]:
        """The rungs that at a clock are faster than every narrower one: only these are worth it."""
        found = self._rising.get(clock)
        if found is None:
            found = self._rising[clock] = _rising([speed[clock] for speed in self.throughput])
        return found

    def wider(self, rung: int, clock: int) -> list[int]:
        """Rungs to grow to at a clock, narrowest first; the last one gains most for its GPUs."""
        found = self._wider.get((rung, clock))
        if found is None:
            speed = [each[clock] for each in self.throughput]
            found = _climb(self.counts, speed, rung, self.rising(clock))
            self._wider[rung, clock] = found
        return found

    def priority(self, rung: int, clock: int, to_rung: int, to_clock: int) -> tuple[float, float]:
        """(Relative gain in completion time over relative cost in energy, relative gain).

        The work left cancels. A step that costs no energy has infinite priority; one that gains no
        time has a gain of at most 0.
        """
        speed, faster = self.throughput[rung][clock], self.throughput[to_rung][to_clock]
        gain = 1.0 - speed / faster
        joules = self.counts[rung] * (self.watts[rung][clock] + self.host_w) / speed
        more = self.counts[to_rung] * (self.watts[to_rung][to_clock] + self.host_w) / faster
        cost = more / joules - 1.0
        return (gain / cost if cost > 0 else float("inf")), gain

    def rung_of(self, gpus: int) -> int:
        """Of exactly so many GPUs; -1 for none."""
        return self.counts.index(gpus) if gpus in self.counts else -1

    def clock_of(self, rung: int, clock_mhz: int) -> int:
        """The nearest clock; an unset one is the highest."""
        mhz = self.mhz[rung]
        if not clock_mhz:
            return len(mhz) - 1
        return min(range(len(mhz)), key=lambda at: abs(mhz[at] - clock_mhz))


def _rising(speed: Sequence[float]) -> list[int]:
    """Where a speed is higher than everywhere before."""
    found = [0]
    for at, value in enumerate(speed):
        if value > speed[found[-1]]:
            found.append(at)
    return found


def _climb(
    size: Sequence[int], speed: Sequence[float], at: int, rising: Sequence[int]
) -> list[int]:
    """From `at` to the point that gains most speed for its size, and what rises on the way there.

    Where every step gains less than the one before, that is the next point; a point that was
    measured badly, or is bad, is passed over.
    """
    ahead = [to for to in rising if to > at]
    steepest, far = 0.0, 0
    for number, to in enumerate(ahead, start=1):
        slope = (speed[to] - speed[at]) / max(size[to] - size[at], 1)
        if slope > steepest * (1 + _SAME):
            steepest, far = slope, number
    return ahead[:far]


def unmeasured(gpus: int, max_w: float) -> Ladder:
    """A job nobody knows: its fewest GPUs at the highest clock, at the most watts."""
    return Ladder([gpus], [[0]], [[1.0]], [[max_w]], [0])


class Ladders:
    """The ladders over a table of profiles, each worked out once."""

    def __init__(self, snapshot: Snapshot, clock: ClockName, *, hosts: bool = False) -> None:
        """With `hosts` energy is that of GPUs and their part of the hosts, else of GPUs alone."""
        self.table = snapshot.profiles
        self._hosts = hosts
        self._host_w = self._host_watts(snapshot)
        self._clock = clock
        self._gpu_types = snapshot.gpu_types
        self._max_w: list[float] = snapshot.gpu_types.max_w.tolist()
        self._known: dict[tuple[int, int, int, int], Ladder] = {}

    def serves(self, snapshot: Snapshot) -> bool:
        """Whether these are the ladders of a snapshot: tables are frozen, so the same is equal."""
        return (
            self.table is snapshot.profiles
            and self._gpu_types is snapshot.gpu_types
            and self._host_w == self._host_watts(snapshot)
        )

    def _host_watts(self, snapshot: Snapshot) -> list[float]:
        if not self._hosts:
            return [0.0] * len(snapshot.gpu_types)
        host_w: list[float] = busy_host_w(snapshot).tolist()
        return host_w

    def of(self, profile: int, kind: int, min_gpus: int, max_gpus: int) -> Ladder:
        key = (profile, kind, min_gpus, max_gpus)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._build(*key)
        return found

    def _build(self, profile: int, kind: int, min_gpus: int, max_gpus: int) -> Ladder:
        table = self.table
        if profile < 0 or not table.throughput.size:
            return unmeasured(min_gpus, self._max_w[kind])
        speed = table.throughput[profile, kind]
        measured = (speed > 0).any(axis=1)
        clocks = np.flatnonzero((speed > 0).any(axis=0))
        if not len(clocks):
            return unmeasured(min_gpus, self._max_w[kind])
        most = min(max_gpus, int(table.gpu_counts[measured].max()))
        counts = [min_gpus]
        while counts[-1] * 2 <= most:
            counts.append(counts[-1] * 2)
        throughput = np.stack([_speed(table, speed[:, at], counts) for at in clocks], axis=1)
        watts = _watts(table, table.watts_per_gpu[profile, kind], counts, self._max_w[kind])[
            :, clocks
        ]
        mhz = np.broadcast_to(table.clocks_mhz[kind][clocks], watts.shape)
        host_w = self._host_w[kind]
        efficient = ((watts + host_w) / throughput).argmin(axis=1)
        if self._clock != "chosen":
            only = efficient if self._clock == "efficient" else np.full(len(counts), -1)
            at = (np.arange(len(counts)), only)
            mhz, throughput, watts = mhz[at][:, None], throughput[at][:, None], watts[at][:, None]
            efficient = np.zeros(len(counts), np.int64)
        return Ladder(
            counts, mhz.tolist(), throughput.tolist(), watts.tolist(), efficient.tolist(), host_w
        )


def _speed(table: ProfileTable, speed: F64, counts: list[int]) -> F64:
    """Between measured counts on a straight line, as flat as the last one beyond them."""
    known = speed > 0
    return np.asarray(np.interp(counts, table.gpu_counts[known], speed[known]), np.float64)


def _watts(table: ProfileTable, measured: F64, counts: list[int], max_w: float) -> F64:
    """At the next higher measured count, as `policies.bench.power` reads them."""
    at = np.searchsorted(table.gpu_counts, counts).clip(max=len(table.gpu_counts) - 1)
    watts = measured[at]
    highest = np.where(np.isnan(watts[:, -1:]), max_w, watts[:, -1:])
    return np.where(np.isnan(watts), highest, watts)
