"""What every policy is, and what those can do besides that know how good their plans are."""

from typing import Protocol, runtime_checkable

from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot

# Sums of floats in another order: a bound may be so much of the objective above it.
ROUNDING = 1e-6


class Policy(Protocol):
    @property
    def work_conserving(self) -> bool:
        """Whether no job is left waiting that could start on what is free and kept for nobody."""

    @property
    def minds_running(self) -> bool:
        """Whether it may change running jobs or nodes while no job is queued."""

    def plan(self, snapshot: Snapshot) -> Plan:
        """Pure: the same snapshot and parameters give the same plan, byte for byte."""


@runtime_checkable
class Bounding(Policy, Protocol):
    """A policy with an objective that it can bound; rounds do not wait for that."""

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        """Pure: what no plan of the snapshot falls below; `objective` is what one plan has."""


def gap(objective: float, bound: float) -> float:
    """How much of the objective might have been saved at most; 0 where there is none."""
    size = abs(objective)
    if bound - objective > ROUNDING * size:
        raise ValueError(f"the bound {bound!r} is above the objective {objective!r}")
    return max(objective - bound, 0.0) / size if size else 0.0
