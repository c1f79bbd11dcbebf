"""What a profiling run measures next, and when it has measured it: Synergy's optimistic profiling.

CPUs are swept at the highest clock and full memory, by bisection towards the fewest that are as
fast as the most; then a few clocks with the most CPUs. Memory is not swept: what a smaller cache
costs follows from the data's size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Speeds this close together are the same: more CPUs would buy nothing.
SAME = 0.10
CLOCKS = 4
# A measurement is over after so long and so many steps; slow programs get longer for fewer.
MEASURE_S, STEPS = 10.0, 20
LONGEST_S, FEWEST_STEPS = 60.0, 3
# The models take a point to be good to 3 %. A steady measurement by a node's own clock and counter
# is good to about 1 %, so it counts nine times.
WEIGHT = 9.0
# A clock that the driver refuses is never reached; nor is it waited for.
GIVE_UP_S = 90.0


@dataclass(frozen=True, slots=True)
class Configuration:
    """A clock of None is not locked, as on GPUs without settable clocks."""

    clock_mhz: int | None
    cpus: int


@dataclass(frozen=True, slots=True)
class MeasuredConfiguration:
    """Of one configuration; no speed when it could not be measured."""

    at: Configuration
    steps_per_s: float | None
    watts: float | None = None


@dataclass(frozen=True, slots=True)
class SettledReport:
    """What the node last said: everything since the attempt settled at this configuration."""

    at: Configuration
    steps: int
    steps_s: float
    energy_mj: int = 0
    energy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Sweep:
    clocks_mhz: Sequence[int]
    most_cpus: int

    def next(self, measured: Sequence[MeasuredConfiguration]) -> Configuration | None:
        """The next configuration to measure; None when all is known."""
        known = {one.at: one.steps_per_s for one in measured}
        cpus = self._next_cpus(known)
        if cpus is not None:
            return Configuration(self._highest, cpus)
        clocks = (Configuration(clock, self.most_cpus) for clock in self._few_clocks())
        return next((at for at in clocks if at not in known), None)

    def _next_cpus(self, known: dict[Configuration, float | None]) -> int | None:
        for cpus in (self.most_cpus, 1):
            if Configuration(self._highest, cpus) not in known:
                return cpus
        low, high = 1, self.most_cpus
        while high - low > 1:
            middle = (low + high) // 2
            at = Configuration(self._highest, middle)
            if at not in known:
                ends = (known[Configuration(self._highest, cpus)] for cpus in (low, high))
                return None if _same(*ends) else middle
            fast = known[Configuration(self._highest, self.most_cpus)]
            low, high = (low, middle) if _same(known[at], fast) else (middle, high)
        return None

    @property
    def _highest(self) -> int | None:
        return max(self.clocks_mhz, default=None)

    def _few_clocks(self) -> list[int]:
        """Lowest, highest and what lies evenly between."""
        clocks = sorted(set(self.clocks_mhz))
        if len(clocks) <= CLOCKS:
            return clocks
        return [clocks[round(i * (len(clocks) - 1) / (CLOCKS - 1))] for i in range(CLOCKS)]


def result(
    wanted: Configuration, report: SettledReport | None, waited_s: float
) -> MeasuredConfiguration | None:
    """What was measured of the wanted configuration; None while it is still being measured."""
    if report is not None and report.at == wanted and _enough(report):
        watts = report.energy_mj / 1000 / report.energy_s if report.energy_s > 0 else None
        return MeasuredConfiguration(wanted, report.steps / report.steps_s, watts or None)
    return MeasuredConfiguration(wanted, None) if waited_s >= GIVE_UP_S else None


def _enough(report: SettledReport) -> bool:
    quick = report.steps_s >= MEASURE_S and report.steps >= STEPS
    return quick or (report.steps_s >= LONGEST_S and report.steps >= FEWEST_STEPS)


def _same(one: float | None, other: float | None) -> bool:
    """What could not be measured is not looked into any further."""
    if one is None or other is None:
        return True
    return abs(one - other) <= SAME * max(one, other)
