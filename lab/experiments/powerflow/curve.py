"""Energy against completion time: the front of a sweep, and what baselines are beside it."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np


class CurvePoint(NamedTuple):
    """A run as a point of the plane."""

    energy_kwh: float
    jct_s: float


Pair = TypeVar("Pair", bound=tuple[float, float])


def front(points: Sequence[Pair]) -> list[Pair]:
    """Points that no other beats in both, by the rising first: the more energy, the shorter."""
    kept: list[Pair] = []
    for point in sorted(points):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def jct_at(points: Sequence[CurvePoint], energy_kwh: float) -> float:
    """On the front, linear between its points; its end beyond it, nan before it."""
    kept = front(points)
    if not kept or energy_kwh < kept[0].energy_kwh:
        return math.nan
    energies, times = zip(*kept, strict=True)
    return float(np.interp(energy_kwh, energies, times))


def ratio(points: Sequence[CurvePoint], baseline: CurvePoint) -> float:
    """How many times as long jobs take under the baseline as on the curve at its energy."""
    return baseline.jct_s / jct_at(points, baseline.energy_kwh)


class Spread(NamedTuple):
    low: float
    median: float
    high: float
    known: int
    """Of so many ratios; a baseline that spends less than the whole curve has none."""


def spread(ratios: Sequence[float]) -> Spread:
    known = [value for value in ratios if not math.isnan(value)]
    if not known:
        return Spread(math.nan, math.nan, math.nan, 0)
    return Spread(min(known), float(np.median(known)), max(known), len(known))
