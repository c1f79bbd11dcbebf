"""A measured point of an application on one GPU type."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Means over a stretch of steady work; nan is not measured, a clock of 0 nobody's.

    `batch_per_gpu` of nan: the application's share. `weight` is how much the point counts: older
    or shorter measurements less.
    """

    gpus: int
    steps_per_s: float
    clock_mhz: float = 0.0
    watts_per_gpu: float = math.nan
    batch_per_gpu: float = math.nan
    cpus_per_gpu: float = math.nan
    mem_mib_per_gpu: float = math.nan
    weight: float = 1.0
