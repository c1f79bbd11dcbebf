"""Bounded least squares from several starts, over named terms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from policies.columns import F64

Named = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Term:
    """A parameter to be found: where to begin and between what to stay."""

    name: str
    starts: tuple[float, ...]
    low: float = 0.0
    high: float = float("inf")
    scale: float = 1.0


def solve(terms: Sequence[Term], residuals: Callable[[Named], F64]) -> dict[str, float]:
    """The best of the starts; each term takes its own start of the same turn, or its last."""
    if not terms:
        return {}
    scale = np.array([term.scale for term in terms])
    low = np.array([term.low for term in terms]) / scale
    high = np.array([term.high for term in terms]) / scale

    def named(values: F64) -> dict[str, float]:
        return {t.name: v for t, v in zip(terms, (values * scale).tolist(), strict=True)}

    best, best_cost = low, np.inf
    for turn in range(max(len(term.starts) for term in terms)):
        start = [term.starts[min(turn, len(term.starts) - 1)] for term in terms]
        # A start on its bound has no room to move in the solver's first step.
        inside = np.clip(np.array(start) / scale, low + 1e-9, high - 1e-9)
        found = least_squares(lambda v: residuals(named(v)), inside, bounds=(low, high))
        if found.cost < best_cost:
            best, best_cost = found.x, found.cost
    return named(best)
