"""How long an iteration takes over GPUs, clock and local batch: the PowerFlow form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from policies.contract.columns import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputModel:
    """Seconds: compute = alpha0 + alpha1*b + (alpha2 + alpha3*b) / x, for b samples on each GPU.

    x is the clock over `reference_mhz`, so that every parameter is in seconds; a clock of 0 is
    nobody's: the reference. Synchronising n GPUs, on as few nodes as hold them, takes
    beta0 + beta1*(n - 2) inside a node and beta2 + beta3*(n - 2) across nodes; gamma says how far
    it hides behind the compute (1: not at all). Parameters may be arrays: many models are then
    evaluated at once.
    """

    alpha0: float = 0.0
    alpha1: float = 0.0
    alpha2: float = 0.0
    alpha3: float = 0.0
    beta0: float = 0.0
    beta1: float = 0.0
    beta2: float = 0.0
    beta3: float = 0.0
    gamma: float = 1.0
    reference_mhz: float = 1.0
    gpus_per_node: float = 8

    def compute_s(self, clock_mhz: ArrayLike, batch_per_gpu: ArrayLike) -> F64:
        batch = np.asarray(batch_per_gpu, np.float64)
        slower = 1.0 / relative_clock(clock_mhz, self.reference_mhz)
        steady = self.alpha0 + self.alpha1 * batch
        return np.asarray(steady + (self.alpha2 + self.alpha3 * batch) * slower)

    def sync_s(self, gpus: ArrayLike) -> F64:
        n = np.asarray(gpus, np.float64)
        inside = self.beta0 + self.beta1 * (n - 2)
        across = self.beta2 + self.beta3 * (n - 2)
        return np.where(n <= 1, 0.0, np.where(n > self.gpus_per_node, across, inside))

    def iteration_s(
        self, gpus: ArrayLike, clock_mhz: ArrayLike = 0, batch_per_gpu: ArrayLike = 0
    ) -> F64:
        compute = self.compute_s(clock_mhz, batch_per_gpu)
        sync = self.sync_s(gpus)
        # Scaled by the larger part, so that a high gamma neither overflows nor vanishes.
        longer = np.maximum(compute, sync)
        with np.errstate(invalid="ignore", divide="ignore"):
            shorter = np.where(longer > 0, np.minimum(compute, sync) / longer, 0.0)
        return np.asarray(longer * (1.0 + shorter**self.gamma) ** (1.0 / self.gamma))

    def steps_per_s(
        self, gpus: ArrayLike, clock_mhz: ArrayLike = 0, batch_per_gpu: ArrayLike = 0
    ) -> F64:
        return np.asarray(1.0 / self.iteration_s(gpus, clock_mhz, batch_per_gpu))

    def busy_share(
        self, gpus: ArrayLike, clock_mhz: ArrayLike = 0, batch_per_gpu: ArrayLike = 0
    ) -> F64:
        """Of an iteration: how much of it the GPU computes; the rest it waits for others."""
        whole = self.iteration_s(gpus, clock_mhz, batch_per_gpu)
        return np.asarray(np.minimum(self.compute_s(clock_mhz, batch_per_gpu) / whole, 1.0))


def relative_clock(clock_mhz: ArrayLike, reference_mhz: ArrayLike) -> F64:
    """1 where no clock is set."""
    clock, reference = np.asarray(clock_mhz, np.float64), np.asarray(reference_mhz, np.float64)
    return np.where(clock > 0, clock / reference, 1.0)
