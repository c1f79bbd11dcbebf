"""Whether any policy lies below the front that one policy's dial draws."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lab.experiments.powerflow.curve import front


class Spot(NamedTuple):
    """A policy as a point of the plane: money, and what it is traded for; less is better."""

    cost: float
    other: float


class Found(NamedTuple):
    """Policies that dominate a front, and those that lie outside of it."""

    dominating: list[str]
    outside: list[str]


def dominates(point: Spot, points: Sequence[Spot]) -> bool:
    """Below the front, linear between its points; or cheaper than all of it and no slower."""
    kept = front(points)
    if point.cost < kept[0].cost:
        return point.other <= kept[0].other
    costs, others = zip(*kept, strict=True)
    return point.cost <= kept[-1].cost and point.other < float(np.interp(point.cost, costs, others))


def outside(point: Spot, points: Sequence[Spot]) -> bool:
    """What no point of the front reaches, at a price: faster for more money, or cheaper, slower."""
    kept = front(points)
    cheaper = point.cost < kept[0].cost and point.other > kept[0].other
    faster = point.cost > kept[-1].cost and point.other < kept[-1].other
    return cheaper or faster


def found(others: Mapping[str, Spot], points: Sequence[Spot]) -> Found:
    return Found(
        [name for name, point in others.items() if dominates(point, points)],
        [name for name, point in others.items() if outside(point, points)],
    )
