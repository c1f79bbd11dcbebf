"""Rents for GPU time, and the lower bound on a round's money that any rents give (Lagrange)."""

from types import ModuleType

import numpy as np

from policies.bench.compiled import compiled
from policies.contract.columns import F64
from policies.fairwatt import kernel as plain_kernel
from policies.fairwatt.problem import FairwattProblem

ITERATIONS = 80
# A step takes some 10 us for every job: a long queue's bound is coarser instead of slower.
EVALUATIONS = 250_000
SLOWER = 0.85


class Rents:
    """Prices of a GPU of (pool, slot) by the second, raised where too many want it.

    What every job would pay at least with such prices, less what all GPU time is worth, is a bound
    on every schedule. Polyak's steps move the prices towards those of the best bound.
    """

    def __init__(self, problem: FairwattProblem, kernel: ModuleType | None = None) -> None:
        self.problem = problem
        self.bound = -np.inf
        self.alone: F64 = np.zeros(len(problem.rows))
        """What every job would pay at least if it had all GPUs for itself."""
        self._code = kernel or compiled(plain_kernel)
        self._length_s = np.diff(problem.ahead.edges_s)
        self._supply = problem.ahead.free * self._length_s
        self._price: F64 = np.zeros_like(self._supply)
        self._step = 1.0
        self._first = True

    def until(self) -> F64:
        """What a GPU of each pool is rented for until each edge."""
        sums = np.cumsum(self._price * self._length_s, axis=1)
        return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)

    def step(self, upper: float) -> bool:
        """Judge the prices and change them, given what some schedule costs; False at the end."""
        problem, price = self.problem, self._price
        used, paid = np.zeros_like(self._supply), np.zeros(len(problem.rows))
        total = self._code.relaxed(
            problem.ways, problem.wants, problem.ahead, self.until(), used, paid
        )
        if self._first:
            self.alone, self._first = paid, False
        bound = float(total - (price * self._supply).sum())
        if bound <= self.bound:
            self._step *= SLOWER
        self.bound = max(self.bound, bound)
        over = used - self._supply
        over = np.where((price <= 0) & (over < 0), 0.0, over)
        # In units of the slots' own length, or the longest slots would drown the others.
        scaled = over / self._length_s
        norm = float((over * scaled).sum())
        if norm <= 0 or upper - self.bound <= 1e-9 * abs(upper):
            return False
        self._price = np.maximum(price + self._step * (upper - bound) / norm * scaled, 0.0)
        return True


def lower_bound(
    problem: FairwattProblem,
    upper: float,
    *,
    iterations: int | None = None,
    kernel: ModuleType | None = None,
) -> float:
    """Money below which no schedule of the planned jobs can be; `upper` is what one costs."""
    rents = Rents(problem, kernel)
    count = steps(len(problem.rows)) if iterations is None else iterations
    for _ in range(count):
        if not rents.step(upper):
            break
    return rents.bound


def steps(jobs: int) -> int:
    """How often the prices are changed: at least one bound is found."""
    return max(1, min(ITERATIONS, EVALUATIONS // max(jobs, 1)))
