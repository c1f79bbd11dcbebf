"""Bounded least squares over named terms that have usual values, and how far it may be trusted."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jobs.profiling.performance.fit import LEAST_SPREAD, WIDE_SPREAD, Estimate, FittedRange
from policies.contract.columns import F64

Named = Mapping[str, float]
# Far below the noise of any measurement.
TOLERANCE = 1e-6
# Relative standard error of a measured point; what is known before weighs as much as one point
# that far off. So a few points overrule it, and what no point tells keeps its usual value.
NOISE = 0.03
# Two standard deviations hold 95 % of normal errors.
DEVIATIONS = 2.0
# Fewer points than this beyond the parameters say nothing of the error.
LEAST_DEGREES = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A parameter to be found: between what, from where, and what it usually is."""

    name: str
    starts: tuple[float, ...]
    low: float = 0.0
    high: float = float("inf")
    scale: float = 1.0
    usual: float = 0.0
    deviation: float = float("inf")


class Solution(NamedTuple):
    values: dict[str, float]
    told: float
    """How many parameters the points told, rather than what was known before."""
    estimates: dict[str, Estimate]


def solve(terms: Sequence[Term], residuals: Callable[[Named], F64]) -> Solution:
    """The best of the starts; each term takes its own start of the same turn, or its last.

    `residuals` are relative errors.
    """
    # Half a second that only whoever fits needs.
    from scipy.optimize import least_squares  # noqa: PLC0415

    scale = np.array([term.scale for term in terms])
    low = np.array([term.low for term in terms]) / scale
    high = np.array([term.high for term in terms]) / scale
    usual = np.array([term.usual for term in terms])
    weight = NOISE / np.array([term.deviation for term in terms])

    def named(values: F64) -> dict[str, float]:
        return {t.name: v for t, v in zip(terms, (values * scale).tolist(), strict=True)}

    def all_residuals(values: F64) -> F64:
        return np.concatenate([residuals(named(values)), weight * (values * scale - usual)])

    best = None
    for turn in range(max(len(term.starts) for term in terms)):
        start = [term.starts[min(turn, len(term.starts) - 1)] for term in terms]
        # A start on its bound has no room to move in the solver's first step.
        inside = np.clip(np.array(start) / scale, low + 1e-9, high - 1e-9)
        found = least_squares(
            all_residuals, inside, bounds=(low, high), xtol=TOLERANCE, ftol=TOLERANCE
        )
        if best is None or found.cost < best.cost:
            best = found
    if best is None:
        raise ValueError("a fit needs a term with a start")
    values, open_by = named(best.x), named(_deviations(best.jac))
    estimates = {name: Estimate(value, open_by[name]) for name, value in values.items()}
    return Solution(values, _told(best.jac, len(best.fun) - len(terms)), estimates)


def _deviations(jacobian: F64) -> F64:
    """Standard errors of the values, were the errors of the points as large as NOISE."""
    variances = np.diag(np.linalg.pinv(jacobian.T @ jacobian))
    return np.asarray(NOISE * np.sqrt(np.maximum(variances, 0.0)))


def _told(jacobian: F64, points: int) -> float:
    """The trace of the hat matrix over the points' own rows."""
    of_points = jacobian[:points]
    return float(np.trace(of_points @ np.linalg.pinv(jacobian)[:, :points]))


def spread_of(residuals: F64, told: float) -> float:
    """From the errors at the points, of which `told` went into parameters.

    One more point with the usual noise is counted, so that a lucky fit does not look certain.
    """
    degrees = len(residuals) - told
    if degrees < LEAST_DEGREES:
        return WIDE_SPREAD
    squares = float((np.log1p(np.maximum(residuals, -0.99)) ** 2).sum()) + NOISE**2
    return float(
        np.clip(DEVIATIONS * math.sqrt(squares / (degrees + 1)), LEAST_SPREAD, WIDE_SPREAD)
    )


def ranges_of(columns: Mapping[str, Sequence[float] | F64]) -> dict[str, FittedRange]:
    """Of every axis that was told at all."""
    ranges = {}
    for axis, values in columns.items():
        known = np.asarray(values, np.float64)
        known = known[~np.isnan(known)]
        if len(known):
            ranges[axis] = FittedRange(float(known.min()), float(known.max()))
    return ranges
