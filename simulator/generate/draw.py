"""Draw a workload from a job model, at a chosen load and with a chosen rhythm of arrivals."""

from typing import Literal

import numpy as np

from policies.contract.columns import F64, I64
from simulator.generate.fit import DAY_S, EPOCH_WEEKDAY
from simulator.generate.model import Durations, JobModel
from simulator.workload import Trace, Workload

Arrivals = Literal["poisson", "bursty", "diurnal"]
HOUR_S = 3600


def draw_trace(
    model: JobModel,
    *,
    jobs: int,
    gpus: int,
    load: float,
    arrivals: Arrivals,
    seed: int,
    starts_s: float = 0.0,
    tenants: int = 1,
) -> Trace:
    """`jobs` jobs that ask for `load` times what `gpus` GPUs give while they arrive."""
    random = np.random.default_rng([seed, jobs])
    gang = draw_gangs(model, jobs, gpus, random)
    duration_s = draw_durations(model, gang, random)
    span_s = float((gang * duration_s).sum() / (load * gpus))
    after_s = draw_arrivals(model, jobs, span_s, random, arrivals=arrivals, starts_s=starts_s)
    workload = Workload.sorted(
        submitted_s=starts_s + after_s,
        work=duration_s,
        gpus=gang,
        tenant=random.integers(tenants, size=jobs),
    )
    return Trace(workload, tuple(f"tenant-{i}" for i in range(tenants)))


def draw_gangs(model: JobModel, count: int, most: int, random: np.random.Generator) -> I64:
    """Gangs larger than the cluster are left out of the draw."""
    sizes, shares = np.array(model.gpus), np.array(model.gpu_shares)
    fitting = sizes <= most
    shares = shares[fitting] / shares[fitting].sum()
    return random.choice(sizes[fitting], size=count, p=shares).astype(np.int64)


def draw_durations(model: JobModel, gang: I64, random: np.random.Generator) -> F64:
    """From the mixture of the job's class, between its shortest and longest seen."""
    duration_s = np.empty(len(gang))
    bounds = np.array([durations.from_gpus for durations in model.durations])
    of_class = np.searchsorted(bounds, gang, side="right") - 1
    for at, durations in enumerate(model.durations):
        chosen = of_class == at
        duration_s[chosen] = _mixture(durations, int(chosen.sum()), random)
    return duration_s


def _mixture(durations: Durations, count: int, random: np.random.Generator) -> F64:
    weights = np.array(durations.weights)
    component = random.choice(len(weights), size=count, p=weights / weights.sum())
    means, sigmas = np.array(durations.means), np.array(durations.sigmas)
    drawn = np.exp(random.normal(means[component], sigmas[component]))
    return np.asarray(np.clip(drawn, durations.shortest_s, durations.longest_s))


def draw_arrivals(
    model: JobModel,
    count: int,
    span_s: float,
    random: np.random.Generator,
    *,
    arrivals: Arrivals,
    starts_s: float,
) -> F64:
    """Seconds from the start, ascending, over about `span_s`."""
    if arrivals == "bursty":
        return _bursty(count, span_s, model.interarrival_cv2, random)
    # Given their number, the arrivals of a Poisson process are uniform draws.
    share = np.sort(random.random(count))
    if arrivals == "poisson":
        return share * span_s
    hours = np.arange(int(np.ceil(span_s / HOUR_S)) + 1)
    hour_s = starts_s + hours * HOUR_S
    rate = np.array(model.by_hour)[(hour_s % DAY_S // HOUR_S).astype(np.int64)]
    weekday = ((hour_s // DAY_S + EPOCH_WEEKDAY) % 7).astype(np.int64)
    rate = rate * np.array(model.by_weekday)[weekday]
    mass = np.concatenate([[0.0], np.cumsum(rate)])
    edges_s = np.append(hours * HOUR_S, (len(hours)) * HOUR_S).astype(np.float64)
    known = np.interp(span_s, edges_s, mass)
    return np.asarray(np.interp(share * known, mass, edges_s))


def _bursty(count: int, span_s: float, cv2: float, random: np.random.Generator) -> F64:
    """Hyperexponential gaps of the given squared coefficient of variation, balanced means."""
    cv2 = max(cv2, 1.0)
    often = (1 + np.sqrt((cv2 - 1) / (cv2 + 1))) / 2
    mean_s = np.where(random.random(count) < often, 0.5 / often, 0.5 / (1 - often))
    at = np.cumsum(random.exponential(mean_s))
    return np.asarray(at * (span_s / at[-1]))
