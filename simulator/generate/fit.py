"""Fit a job model to a trace: gang sizes, run times as mixtures, and the rhythm of arrivals."""

import numpy as np

from policies.contract.columns import F64
from simulator.generate.model import Durations, JobModel
from simulator.workload import Workload

DAY_S = 86_400
COMPONENTS = 3
# 1970-01-01 was a Thursday, weekday 3.
EPOCH_WEEKDAY = 3
# Gangs of one, of part of a node, and of whole nodes run for different times.
GANG_CLASSES = (1, 2, 8)


def fit(jobs: Workload, source: str) -> JobModel:
    sizes, counts = np.unique(jobs.gpus, return_counts=True)
    gaps_s = np.diff(jobs.submitted_s)
    seconds = jobs.submitted_s
    by_hour = np.bincount((seconds % DAY_S // 3600).astype(np.int64), minlength=24)
    weekday = ((seconds // DAY_S + EPOCH_WEEKDAY) % 7).astype(np.int64)
    by_weekday = np.bincount(weekday, minlength=7)
    bounds = [*GANG_CLASSES, np.inf]
    return JobModel(
        source=source,
        rows=len(jobs),
        gpus=tuple(sizes.tolist()),
        gpu_shares=_rounded(counts / counts.sum()),
        durations=tuple(
            fit_durations(jobs.work[(jobs.gpus >= low) & (jobs.gpus < high)], low)
            for low, high in zip(GANG_CLASSES, bounds[1:], strict=True)
        ),
        by_hour=_rounded(by_hour / by_hour.mean()),
        by_weekday=_rounded(by_weekday / by_weekday.mean()),
        interarrival_cv2=round(float(gaps_s.var() / gaps_s.mean() ** 2), 3),
    )


def fit_durations(duration_s: F64, from_gpus: int) -> Durations:
    weights, means, sigmas = fit_mixture(np.log(duration_s), COMPONENTS)
    return Durations(
        from_gpus=from_gpus,
        weights=_rounded(weights),
        means=_rounded(means),
        sigmas=_rounded(sigmas),
        shortest_s=float(duration_s.min()),
        longest_s=float(duration_s.max()),
    )


def fit_mixture(values: F64, components: int, steps: int = 200) -> tuple[F64, F64, F64]:
    """Expectation maximisation of a one-dimensional Gaussian mixture, from equal quantiles."""
    means = np.quantile(values, (np.arange(components) + 0.5) / components)
    sigmas = np.full(components, values.std() / components)
    weights = np.full(components, 1 / components)
    for _ in range(steps):
        scaled = (values[:, None] - means) / sigmas
        log_density = np.log(weights) - np.log(sigmas) - scaled**2 / 2
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        share = density / density.sum(axis=1, keepdims=True)
        mass = share.sum(axis=0)
        weights = mass / len(values)
        means = (share * values[:, None]).sum(axis=0) / mass
        spread = (share * (values[:, None] - means) ** 2).sum(axis=0) / mass
        # A component on a single repeated value would shrink to nothing.
        sigmas = np.sqrt(np.maximum(spread, 1e-4))
    return weights, means, sigmas


def _rounded(values: F64) -> tuple[float, ...]:
    return tuple(float(value) for value in np.round(values, 6))
