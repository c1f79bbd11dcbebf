"""How speed depends on CPUs and memory per GPU: preprocessing, and a cache that never evicts.

A batch takes the longest of computing, preprocessing on c CPUs, and fetching what the cache does
not hold: max(compute, preprocessing(c), (1 - x) * fetch). A cache that keeps what it first read
(MinIO) serves exactly its share x of the data set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from policies.contract.columns import F64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """`cached_s` are seconds per batch at `cpus`, all data in memory: compute or preprocessing.

    `fetch_s` are the seconds to read a whole batch from storage, `dataset_mib` the data set's size
    per GPU that reads it. Below `least_mem_mib` the process itself does not fit: its speed is
    `starved_speed` of the reference. Everything is relative to the reference configuration.
    """

    cpus: tuple[float, ...]
    cached_s: tuple[float, ...]
    fetch_s: float = 0.0
    dataset_mib: float = 0.0
    reference_cpus: float = 1.0
    reference_mem_mib: float = float("inf")
    least_mem_mib: float = 0.0
    starved_speed: float = 0.1

    @classmethod
    def of_curve(
        cls,
        cpus: Sequence[float],
        steps_per_s: Sequence[float],
        *,
        reference_cpus: float,
        reference_mem_mib: float = float("inf"),
        fetch_s: float = 0.0,
        dataset_mib: float = 0.0,
    ) -> Self:
        """From speeds over CPUs with all data cached; memory follows, it is not swept."""
        order = np.argsort(cpus, kind="stable")
        # More CPUs never slow a job down; where a measurement says so, it is noise.
        speeds = np.maximum.accumulate(np.asarray(steps_per_s, np.float64)[order])
        return cls(
            cpus=tuple(np.asarray(cpus, np.float64)[order].tolist()),
            cached_s=tuple((1.0 / speeds).tolist()),
            fetch_s=fetch_s,
            dataset_mib=dataset_mib,
            reference_cpus=reference_cpus,
            reference_mem_mib=reference_mem_mib,
        )

    @property
    def tells_memory(self) -> bool:
        """Whether it is known what less memory costs; else only how many CPUs are enough."""
        return self.least_mem_mib > 0 or (self.fetch_s > 0 and self.dataset_mib > 0)

    def batch_s(self, cpus_per_gpu: ArrayLike, mem_mib_per_gpu: ArrayLike) -> F64:
        cached = 1.0 / self._cached_speed(np.asarray(cpus_per_gpu, np.float64))
        memory = np.asarray(mem_mib_per_gpu, np.float64)
        # Without a data set all of it is cached.
        share = np.clip(memory / self.dataset_mib, 0.0, 1.0) if self.dataset_mib > 0 else 1.0
        return np.maximum(cached, (1.0 - share) * self.fetch_s)

    def relative_speed(self, cpus_per_gpu: ArrayLike, mem_mib_per_gpu: ArrayLike) -> F64:
        reference = self.batch_s(self.reference_cpus, self.reference_mem_mib)
        speed = reference / self.batch_s(cpus_per_gpu, mem_mib_per_gpu)
        starved = np.asarray(mem_mib_per_gpu, np.float64) < self.least_mem_mib
        return np.where(starved, np.minimum(speed, self.starved_speed), speed)

    def matrix(self, cpus_per_gpu: ArrayLike, mem_mib_per_gpu: ArrayLike) -> F64:
        """W[c, m]: speed relative to the reference configuration."""
        cpus = np.asarray(cpus_per_gpu, np.float64)[:, None]
        return self.relative_speed(cpus, np.asarray(mem_mib_per_gpu, np.float64)[None, :])

    def _cached_speed(self, cpus: F64) -> F64:
        """Linear between measured CPUs, in proportion below them, constant above."""
        known = np.concatenate([[0.0], self.cpus])
        speeds = np.concatenate([[0.0], 1.0 / np.asarray(self.cached_s)])
        return np.asarray(np.maximum(np.interp(cpus, known, speeds), 1e-300))
