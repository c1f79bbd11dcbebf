"""One line of numbers for a run, a tenant or a partition."""

import numpy as np

from policies.contract.columns import F64, I64, Bool
from simulator.engine import Outcome
from simulator.metrics.jobs import JobResults

Summary = dict[str, float]


def of_jobs(jobs: JobResults, chosen: Bool) -> Summary:
    """What can be said of some of the jobs alone; figures over no job are nan."""
    done = chosen & ~np.isnan(jobs.finished_s)
    jct_s, wait_s = jobs.jct_s[done], jobs.wait_s[done]
    return {
        "jobs": int(chosen.sum()),
        "finished": int(done.sum()),
        "jct_mean_s": _mean(jct_s),
        "jct_median_s": _percentile(jct_s, 50),
        "jct_p95_s": _percentile(jct_s, 95),
        "jct_p99_s": _percentile(jct_s, 99),
        "wait_mean_s": _mean(wait_s),
        "wait_median_s": _percentile(wait_s, 50),
        "wait_p99_s": _percentile(wait_s, 99),
        "preemptions": int(jobs.preemptions[chosen].sum()),
        "migrations": int(jobs.migrations[chosen].sum()),
        "failures": int(jobs.failures[chosen].sum()),
        "gpu_hours": float(jobs.held_gpu_s[chosen].sum() / 3600),
        "lost_gpu_hours": float(jobs.lost_gpu_s[chosen].sum() / 3600),
        "fairness_mean": _mean(jobs.fairness[done]),
        "fairness_worst": float(jobs.fairness[done].max(initial=np.nan)) if done.any() else np.nan,
        "unfair_share": _mean(jobs.fairness[done] > 1.0),
        "deadline_misses": int((jobs.tardiness_s[done] > 0).sum()),
        "tardiness_cost": float(jobs.tardiness_cost[done].sum()),
        "energy_kwh": float(jobs.energy_j[chosen].sum() / 3.6e6),
        "energy_cost": float(jobs.energy_cost[chosen].sum()),
        "carbon_kg": float(jobs.carbon_g[chosen].sum() / 1000),
    }


def of_cluster(outcome: Outcome, jobs: JobResults) -> Summary:
    """What belongs to the run as a whole."""
    span_s = max(outcome.ended_s - outcome.setting.origin_s, 1e-9)
    capacity_gpu_s = outcome.setting.machines.gpus * span_s
    held, lost = jobs.held_gpu_s.sum(), jobs.lost_gpu_s.sum()
    return {
        "makespan_s": span_s,
        "rounds": outcome.rounds,
        "gpu_allocation": float(held / capacity_gpu_s),
        "gpu_utilisation": float((held - lost) / capacity_gpu_s),
        "fragmentation": fragmentation(outcome),
        "useless_free_gpus": _mean(outcome.samples.useless.sum(axis=1)),
        "jain": jain(jobs),
    }


def fragmentation(outcome: Outcome) -> float:
    """Mean over the samples with a queue of the share of free GPUs that would not serve it.

    With nothing free, nothing is fragmented.
    """
    samples = outcome.samples
    waited = samples.queued > 0
    free, useless = samples.free[waited].sum(axis=1), samples.useless[waited].sum(axis=1)
    return _mean(useless / np.maximum(free, 1))


def jain(jobs: JobResults) -> float:
    """Jain's index over tenants of their jobs' mean speed: run time alone over completion time."""
    done = ~np.isnan(jobs.finished_s)
    speed = jobs.ideal_s[done] / jobs.jct_s[done]
    tenants, counts = np.unique(jobs.tenant[done], return_counts=True)
    if not len(tenants):
        return float("nan")
    total = np.bincount(np.searchsorted(tenants, jobs.tenant[done]), speed)
    mean = total / counts
    return float(mean.sum() ** 2 / (len(mean) * (mean**2).sum()))


def _mean(values: F64 | I64 | Bool) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _percentile(values: F64, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else float("nan")
