"""Confidence intervals over seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Mean and 95 % bounds; bounds of fewer than two values are nan."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float]) -> Interval:
    """Student's t over independent seeds."""
    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return Interval(math.nan, math.nan, math.nan)
    mean = float(known.mean())
    if len(known) < 2:
        return Interval(mean, math.nan, math.nan)
    error = float(known.std(ddof=1)) / math.sqrt(len(known))
    # A second that only whoever compares runs needs.
    from scipy.stats import t as student  # noqa: PLC0415

    half = float(student.ppf((1 + CONFIDENCE) / 2, len(known) - 1)) * error
    return Interval(mean, mean - half, mean + half)
