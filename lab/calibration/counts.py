"""Speed over counts of GPUs: what is fitted together, and what the machine tells beforehand.

What a further GPU or a second node adds to synchronising belongs to the machine; how many bytes
are synchronised, to the application. A series of few counts cannot fix both, and takes the
former from the other applications on its GPU type.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.profiling.fitting.behaviour import USUAL, Usual, fit_throughput
from jobs.profiling.performance.fit import Estimate, Fit
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.throughput import ThroughputModel
from lab.calibration.gpu_sheets import SHEETS
from lab.calibration.measurements import CountSeries

# Leaving one out of fewer says nothing.
LEAST_COUNTS = 3
# Ratios of the machine; how far synchronising hides behind computing is the application's.
OF_MACHINE = ("inside_each", "across", "across_each")
# Points that a fit needs to fix all of its terms: one scale and the ratios.
TERMS = 1 + len(USUAL)
# Estimates and what they have in common settle each other by then.
ROUNDS = 12
# Applications agree no better than this, in e-folds: their few points must still count.
LEAST_DEVIATION = 0.1


@dataclass(frozen=True, slots=True)
class CountCase:
    """A series, and the other applications that were measured on its GPU type."""

    series: CountSeries
    others: tuple[CountSeries, ...]

    @property
    def name(self) -> str:
        return self.series.name


def count_cases(series: Sequence[CountSeries]) -> list[CountCase]:
    return [
        CountCase(
            one, tuple(o for o in series if o.gpu_type == one.gpu_type and o.name != one.name)
        )
        for one in series
    ]


def groups_of(series: CountSeries) -> Iterator[list[Point]]:
    """What is fitted together: a batch that is shared says how compute depends on the local batch,
    one that grows stays the same on every count, and is fitted on its own.
    """
    if not series.grows:
        yield list(series.points)
        return
    for batch in sorted({series.batch_of(point) for point in series.points}):
        yield [point for point in series.points if series.batch_of(point) == batch]


def fit_group(
    series: CountSeries,
    points: Sequence[Point],
    machine: Mapping[str, Usual],
    clock_bound: float = 1.0,
) -> Fit[ThroughputModel]:
    """Points that could fix every term need nothing of the machine's other applications."""
    usual = machine if len(points) < TERMS else USUAL
    return _fit(series, points, usual, clock_bound)


def machine_usual(series: Sequence[CountSeries]) -> dict[str, Usual]:
    """The machine's ratios as its applications have them in common (empirical Bayes).

    By turns every application is fitted with what they have in common, and that is taken from the
    fits: their mean, and how far they lie apart or leave a ratio open. What is usual elsewhere
    counts as one application more.
    """
    usual = dict(USUAL)
    for _ in range(ROUNDS):
        found: dict[str, list[Estimate]] = defaultdict(list)
        for one in series:
            for points in groups_of(one):
                if len({point.gpus for point in points}) < LEAST_COUNTS:
                    continue
                estimates = _fit(one, points, usual).estimates
                for name in (name for name in OF_MACHINE if name in estimates):
                    found[name].append(estimates[name])
        usual = USUAL | {
            name: in_common(USUAL[name], estimates) for name, estimates in found.items()
        }
    return usual


def in_common(elsewhere: Usual, estimates: Sequence[Estimate]) -> Usual:
    values = np.array([math.log(elsewhere.factor), *(one.value for one in estimates)])
    open_by = np.array([elsewhere.deviation, *(one.deviation for one in estimates)])
    mean = float(values.mean())
    deviation = math.sqrt(float(((values - mean) ** 2 + open_by**2).mean()))
    return Usual(math.exp(mean), max(deviation, LEAST_DEVIATION))


def contradictory(series: CountSeries, slack: float = 0.1) -> list[float]:
    """Batches whose speed per GPU rises with the count: not one kind of machine was measured.

    A GPU in a larger gang does no more of the same work; a tenth is left to noise.
    """
    found = []
    for batch, per_gpu in speeds_per_gpu(series):
        least = np.minimum.accumulate(per_gpu)
        if any(per_gpu[i + 1] > least[i] * (1 + slack) for i in range(len(per_gpu) - 1)):
            found.append(batch)
    return found


def speeds_per_gpu(series: CountSeries) -> Iterator[tuple[float, list[float]]]:
    """Of every batch, by rising count."""
    for batch in sorted({series.batch_of(point) for point in series.points}):
        mine = sorted((p for p in series.points if series.batch_of(p) == batch), key=_count)
        yield batch, [point.steps_per_s / point.gpus for point in mine]


def _fit(
    series: CountSeries,
    points: Sequence[Point],
    usual: Mapping[str, Usual],
    clock_bound: float = 1.0,
) -> Fit[ThroughputModel]:
    sheet = SHEETS[series.gpu_type]
    return fit_throughput(
        points,
        reference_mhz=sheet.clocks_mhz[-1],
        gpus_per_node=sheet.gpus_per_node,
        grows=series.grows,
        clock_bound=clock_bound,
        usual=usual,
    )


def _count(point: Point) -> int:
    return point.gpus
