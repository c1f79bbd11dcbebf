"""What is wrong with measured points: each fault names its point and its value."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from jobs.profiling.performance.points import Point
from policies.value_fault import ValueFault, pointer

# Configurations of one GPU type differ by far less once GPUs and batch are allowed for; a wrong
# unit (ms for s, mW for W) differs by 1000.
UNIT_FACTOR = 100.0


class FitRefused(ValueError):
    """Points that no profile may be made of; every problem points to its point."""

    def __init__(self, problems: Sequence[ValueFault]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)


def refuse(problems: Iterator[ValueFault]) -> None:
    if found := list(problems):
        raise FitRefused(found)


def point_problems(points: Sequence[Point]) -> Iterator[ValueFault]:
    """What is wrong with any of them, whatever is made of them."""
    if not points:
        yield ValueFault("no_points", pointer("points"), "A fit needs at least one measured point.")
        return
    bad = False
    for at, point in enumerate(points):
        for problem in _in_point(point, at):
            bad = True
            yield problem
    if not bad:
        yield from _units(points, "steps_per_s", [_expected_speed(point) for point in points])
        yield from _units(points, "watts_per_gpu", [1.0] * len(points))


def _in_point(point: Point, at: int) -> Iterator[ValueFault]:
    if not math.isfinite(point.steps_per_s):
        yield _problem("not_finite", at, "steps_per_s", "is not a finite number")
    elif point.steps_per_s <= 0:
        yield _problem("not_positive", at, "steps_per_s", f"is {point.steps_per_s:g}, not above 0")
    if math.isinf(point.watts_per_gpu):
        yield _problem("not_finite", at, "watts_per_gpu", "is not a finite number")
    elif point.watts_per_gpu <= 0:
        value = f"{point.watts_per_gpu:g}"
        yield _problem("not_positive", at, "watts_per_gpu", f"is {value}, not above 0")
    for name in ("gpus", "clock_mhz", "cpus_per_gpu", "mem_mib_per_gpu", "batch_per_gpu"):
        value = getattr(point, name)
        least = 1 if name == "gpus" else 0
        if math.isinf(value) or value < least:
            yield _problem("out_of_range", at, name, f"is {value:g}, not from {least} on")
    if not 0 < point.weight < math.inf:
        yield _problem("not_positive", at, "weight", f"is {point.weight:g}, not above 0")


def _expected_speed(point: Point) -> float:
    """Halfway between no speed-up by more GPUs (or smaller batches) and a perfect one."""
    if point.batch_per_gpu > 0:
        return 1.0 / math.sqrt(point.batch_per_gpu)
    return math.sqrt(point.gpus)


def _units(points: Sequence[Point], name: str, expected: Sequence[float]) -> Iterator[ValueFault]:
    """A point that differs from the others by about 1000, as if it were in another unit."""
    values = np.array([getattr(point, name) for point in points], np.float64)
    rows = np.flatnonzero(~np.isnan(values))
    if len(rows) < 2:
        return
    size = np.log(values / np.asarray(expected))[rows]
    for at, row in enumerate(rows.tolist()):
        others = float(np.median(np.delete(size, at)))
        factor = math.exp(abs(float(size[at]) - others))
        if factor >= UNIT_FACTOR:
            more = "more" if size[at] > others else "less"
            told = f"is about {factor:.0f} times {more} than the other points say: another unit?"
            yield _problem("unit_mismatch", row, name, told)


def _problem(code: str, at: int, name: str, told: str) -> ValueFault:
    return ValueFault(code, pointer("points", at, name), f"Point {at}: {name} {told}.")
