"""What it is expected to cost to run a configuration for a while: energy, its host, being late."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from policies.contract.columns import F64
from policies.pricing.curve import PriceCurve


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """Money of one or many runs; nan where the tariff does not reach."""

    gpu_energy: F64
    host_energy: F64
    tardiness: F64

    @property
    def total(self) -> F64:
        return self.gpu_energy + self.host_energy + self.tardiness


def running_cost(
    price: PriceCurve,
    *,
    starts_s: ArrayLike,
    run_s: ArrayLike,
    gpus: ArrayLike,
    watts_per_gpu: ArrayLike,
    host_watts_per_gpu: ArrayLike = 0.0,
    pue: float = 1.0,
    deadline_s: ArrayLike = np.inf,
    tardiness_price_per_s: ArrayLike = 0.0,
) -> Cost:
    """Constant watts from `starts_s` for `run_s` seconds; all arguments broadcast.

    `host_watts_per_gpu` is the host's share of a GPU in use, as `policies.bench.power` has it;
    the facility's overhead (PUE) is paid on both.
    """
    starts, run = np.asarray(starts_s, np.float64), np.asarray(run_s, np.float64)
    ends = starts + run
    count = np.asarray(gpus, np.float64)
    per_watt = pue * price.cost(1.0, starts, ends)
    late_s = np.maximum(ends - np.asarray(deadline_s, np.float64), 0.0)
    return Cost(
        gpu_energy=np.asarray(per_watt * count * np.asarray(watts_per_gpu, np.float64)),
        host_energy=np.asarray(per_watt * count * np.asarray(host_watts_per_gpu, np.float64)),
        tardiness=np.asarray(late_s * np.asarray(tardiness_price_per_s, np.float64)),
    )
