"""The result of a fit: the model, how well it meets its points, and where it may be believed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from policies.contract.columns import F64
from policies.value_fault import ValueFault

Model_co = TypeVar("Model_co", covariant=True)

# Repeated measurements of one configuration differ by about this much (data/zeus: 2 %).
LEAST_SPREAD = 0.02
# What is known from too little may well be wrong by a factor of two.
WIDE_SPREAD = math.log(2.0)
# A prediction beyond the points: its interval grows by this factor per doubling of the distance.
GROWTH = 2.0


class Estimate(NamedTuple):
    """A term's value, and how far points and usual value together leave it open."""

    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class FittedRange:
    """Where one axis was measured; one value only means that the axis was never varied."""

    low: float
    high: float

    def contains(self, value: float) -> bool:
        slack = 1e-6 * max(abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack

    def doublings_outside(self, value: float) -> float:
        """How often the distance to the nearest measured value doubles it; 0 inside."""
        if self.contains(value) or value <= 0 or self.low <= 0:
            return 0.0
        return abs(math.log2(value / (self.low if value < self.low else self.high)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit(Generic[Model_co]):
    """`residuals` are relative: predicted over measured, less one, in the order of the points.

    `notes` say what the points could not tell, and what was assumed instead. `wide` marks a model
    from too little to know its own error.
    """

    model: Model_co
    parameters: Mapping[str, float]
    residuals: F64
    points: int
    ranges: Mapping[str, FittedRange]
    spread: float
    """Half the width of a prediction's interval, as a logarithm."""
    notes: tuple[ValueFault, ...] = ()
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    """The terms as the fit found them: ratios as logarithms (`USUAL`)."""

    @property
    def mean_error(self) -> float:
        return float(np.abs(self.residuals).mean())

    @property
    def worst_error(self) -> float:
        return float(np.abs(self.residuals).max())

    @property
    def wide(self) -> bool:
        return self.spread >= WIDE_SPREAD

    def leaves(self, **at: float) -> tuple[str, ...]:
        """The axes on which a configuration lies outside the points."""
        return tuple(
            axis for axis, value in at.items()
            if axis in self.ranges and not self.ranges[axis].contains(value)
        )  # fmt: skip

    def interval(self, value: float, **at: float) -> tuple[float, float]:
        """Low and high around a predicted value; wider the further it is from the points."""
        outside = sum(
            self.ranges[axis].doublings_outside(v) for axis, v in at.items() if axis in self.ranges
        )
        factor = math.exp(self.spread * GROWTH ** min(outside, 8.0))
        return value / factor, value * factor
