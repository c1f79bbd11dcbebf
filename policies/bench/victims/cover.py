"""The cheapest set of running jobs whose stopping covers what is missing on a node."""

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

# Nodes hold few jobs, so the search ends long before; a node crowded with tiny jobs of odd sizes
# gets the best set found so far.
_MOST_STEPS = 2_000


class Victim(NamedTuple):
    """A running job as seen from one place: what stopping it costs, and what that frees there."""

    cost: float
    gpus: int
    cpus: int
    mem_mib: int
    row: int
    mask: int = 0
    """Its GPUs, where the place is one node."""


class Missing(NamedTuple):
    gpus: int
    cpus: int
    mem_mib: int


class Stops(NamedTuple):
    """Whom to stop for room on some nodes."""

    victims: list[Victim]
    nodes: list[int]


def cheapest_cover(victims: Sequence[Victim], missing: Missing) -> list[Victim] | None:
    """Branch and bound: least cost, then fewest victims; None when all together do not suffice."""
    if max(missing) <= 0:
        return []
    ordered = sorted(victims, key=_density)
    if missing.cpus <= 0 and missing.mem_mib <= 0 and all(victim.gpus == 1 for victim in ordered):
        return ordered[: missing.gpus] if len(ordered) >= missing.gpus else None
    return _Search(ordered, missing).run()


def total_cost(victims: Sequence[Victim]) -> float:
    return sum(victim.cost for victim in victims)


def _density(victim: Victim) -> tuple[float, float, int]:
    return (victim.cost / max(victim.gpus, 1), victim.cost, victim.row)


class _Search:
    def __init__(self, victims: list[Victim], missing: Missing) -> None:
        self.victims = victims
        self.missing = missing
        self.steps = 0
        self.best: list[Victim] | None = None
        self.best_cost = float("inf")
        self.left_from = [Missing(0, 0, 0)]
        for _, gpus, cpus, mem_mib, *_ in reversed(victims):
            so_far = self.left_from[-1]
            self.left_from.append(Missing(*map(add, so_far, (gpus, cpus, mem_mib))))
        self.left_from.reverse()

    def run(self) -> list[Victim] | None:
        self._step(0, [], 0.0, self.missing)
        return self.best

    def _step(self, at: int, chosen: list[Victim], cost: float, missing: Missing) -> None:
        self.steps += 1
        gpus, cpus, mem_mib = missing
        if gpus <= 0 and cpus <= 0 and mem_mib <= 0:
            if self._improves(cost, len(chosen)):
                self.best, self.best_cost = list(chosen), cost
            return
        left = self.left_from[at]
        if gpus > left.gpus or cpus > left.cpus or mem_mib > left.mem_mib:
            return
        if self.best is not None and (
            self.steps > _MOST_STEPS
            or not self._improves(cost + self._bound(at, gpus), len(chosen))
        ):
            return
        victim = self.victims[at]
        chosen.append(victim)
        rest = Missing(gpus - victim.gpus, cpus - victim.cpus, mem_mib - victim.mem_mib)
        self._step(at + 1, chosen, cost + victim.cost, rest)
        chosen.pop()
        self._step(at + 1, chosen, cost, missing)

    def _bound(self, at: int, gpus: int) -> float:
        """Least cost of the missing GPUs if victims could be stopped in part."""
        cost = 0.0
        for victim in self.victims[at:]:
            if gpus <= 0:
                break
            if victim.gpus >= gpus:
                return cost + victim.cost * gpus / victim.gpus
            cost += victim.cost
            gpus -= victim.gpus
        return cost

    def _improves(self, cost: float, count: int) -> bool:
        if self.best is None or cost < self.best_cost:
            return True
        return cost == self.best_cost and count < len(self.best)
