"""What a GPU draws over clock and load."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jobs.profiling.performance.throughput import relative_clock
from policies.contract.columns import F64


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
