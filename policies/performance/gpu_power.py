"""What a GPU draws over clock, load and cap, and what an iteration costs in joules."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from policies.contract.columns import F64
from policies.performance.throughput import ThroughputModel, relative_clock

# Newton's steps from above on a convex curve: each doubles the correct digits.
STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerModel:
    """Watts: computing p0 + (p1 + p2*b)*x + p3*x^3, waiting for other GPUs q0 + q1*x.

    x is the clock over `reference_mhz`, the highest there is, so that every parameter is in watts;
    a clock of 0 is the reference. The cube is the voltage that rises with the clock. No GPU draws
    less than `idle_w` or more than `max_w`. Parameters may be arrays.
    """

    p0: float = 0.0
    p1: float = 0.0
    p2: float = 0.0
    p3: float = 0.0
    q0: float = 0.0
    q1: float = 0.0
    idle_w: float = 0.0
    max_w: float = float("inf")
    reference_mhz: float = 1.0
    lowest_mhz: float = 0.0

    def computing_w(self, clock_mhz: ArrayLike = 0, batch_per_gpu: ArrayLike = 0) -> F64:
        x = relative_clock(clock_mhz, self.reference_mhz)
        batch = np.asarray(batch_per_gpu, np.float64)
        watts = self.p0 + (self.p1 + self.p2 * batch) * x + self.p3 * x**3
        return np.clip(watts, self.idle_w, self.max_w)

    def waiting_w(self, clock_mhz: ArrayLike = 0) -> F64:
        watts = self.q0 + self.q1 * relative_clock(clock_mhz, self.reference_mhz)
        return np.clip(watts, self.idle_w, self.max_w)

    def watts(
        self, clock_mhz: ArrayLike = 0, batch_per_gpu: ArrayLike = 0, busy: ArrayLike = 1.0
    ) -> F64:
        """Mean watts of a GPU that computes for the share `busy` of the time, else waits."""
        share = np.asarray(busy, np.float64)
        computing = share * self.computing_w(clock_mhz, batch_per_gpu)
        return np.asarray(computing + (1.0 - share) * self.waiting_w(clock_mhz))

    def clock_under_cap(self, cap_w: ArrayLike, batch_per_gpu: ArrayLike = 0) -> F64:
        """The highest clock at which computing stays within the cap; a GPU stops at its lowest."""
        batch = np.asarray(batch_per_gpu, np.float64)
        spare_w = np.asarray(cap_w, np.float64) - self.p0
        x = cubic_root(self.p1 + self.p2 * batch, self.p3, np.maximum(spare_w, 0.0))
        clock = np.clip(x * self.reference_mhz, self.lowest_mhz, self.reference_mhz)
        # What the card itself bounds needs no lower clock; what it draws at least cannot be saved.
        capped = self.computing_w(self.reference_mhz, batch) > np.asarray(cap_w, np.float64)
        hopeless = np.asarray(cap_w, np.float64) < self.idle_w
        return np.where(capped, np.where(hopeless, self.lowest_mhz, clock), self.reference_mhz)

    def iteration_j(
        self,
        throughput: ThroughputModel,
        gpus: ArrayLike,
        clock_mhz: ArrayLike = 0,
        batch_per_gpu: ArrayLike = 0,
        nodes: ArrayLike = 0,
    ) -> F64:
        """Joules of all its GPUs: gpus * (computing * compute + waiting * the rest)."""
        compute_s = throughput.compute_s(clock_mhz, batch_per_gpu)
        whole_s = throughput.iteration_s(gpus, clock_mhz, batch_per_gpu, nodes)
        computing_j = self.computing_w(clock_mhz, batch_per_gpu) * compute_s
        waiting_j = self.waiting_w(clock_mhz) * np.maximum(whole_s - compute_s, 0.0)
        return np.asarray(np.asarray(gpus, np.float64) * (computing_j + waiting_j))

    def most_efficient_clock(
        self,
        throughput: ThroughputModel,
        gpus: int,
        clocks_mhz: ArrayLike,
        batch_per_gpu: float = 0,
        nodes: int = 0,
    ) -> float:
        """The clock of the least joules per iteration; the higher one of equals."""
        clocks = np.sort(np.asarray(clocks_mhz, np.float64))[::-1]
        joules = self.iteration_j(throughput, gpus, clocks, batch_per_gpu, nodes)
        return float(clocks[int(joules.argmin())])


def cubic_root(linear: ArrayLike, cubic: ArrayLike, value: ArrayLike) -> F64:
    """The x from 0 to 1 with linear*x + cubic*x^3 = value, all of them not negative; 1 if none."""
    a, b, y = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (linear, cubic, value)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = np.where(y > 0, np.minimum(np.minimum(y / a, np.cbrt(y / b)), 1.0), 0.0)
        for _ in range(STEPS):
            step = (a * x + b * x**3 - y) / (a + 3 * b * x**2)
            x = np.where(np.isfinite(step), np.clip(x - step, 0.0, 1.0), x)
    return np.asarray(x)
