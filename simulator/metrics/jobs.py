"""Per-job results of a run: times, service, lost work and energy."""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from dataclasses import dataclass

import numpy as np

from policies.contract.columns import F64, I32, I64, ColumnTable, column
from simulator.energy import Energy
from simulator.engine import Outcome
from simulator.log import StretchEnd, Stretches
from simulator.truth import Truth


@dataclass(frozen=True, slots=True, eq=False)
class JobResults(ColumnTable):
    """One row per job of the workload; times of jobs that did not finish are nan."""

    submitted_s: F64 = column(np.float64)
    first_start_s: F64 = column(np.float64)
    finished_s: F64 = column(np.float64)
    jct_s: F64 = column(np.float64)
    wait_s: F64 = column(np.float64)
    ideal_s: F64 = column(np.float64)
    gpus: I32 = column(np.int32)
    tenant: I32 = column(np.int32)
    partition: I32 = column(np.int32)
    preemptions: I64 = column(np.int64)
    migrations: I64 = column(np.int64)
    failures: I64 = column(np.int64)
    held_gpu_s: F64 = column(np.float64)
    lost_gpu_s: F64 = column(np.float64)
    fairness: F64 = column(np.float64)
    tardiness_s: F64 = column(np.float64)
    tardiness_cost: F64 = column(np.float64)
    energy_j: F64 = column(np.float64)
    energy_cost: F64 = column(np.float64)
    carbon_g: F64 = column(np.float64)


def job_results(outcome: Outcome, stretches: Stretches, spent: Energy) -> JobResults:
    jobs = outcome.setting.jobs
    count = len(jobs)

    def per_job(amount: F64) -> F64:
        return np.bincount(stretches.job, amount, minlength=count).astype(np.float64)

    def ended(end: StretchEnd) -> I64:
        return np.bincount(stretches.job[stretches.end == end], minlength=count)

    held_s = stretches.to_s - stretches.from_s
    with np.errstate(divide="ignore", invalid="ignore"):
        redone_s = np.where(stretches.rate > 0, stretches.lost_work / stretches.rate, 0.0)
    jct_s = outcome.finished_s - jobs.submitted_s
    ideal_s = _ideal_s(outcome)
    tardiness_s = np.maximum(outcome.finished_s - jobs.deadline_s, 0.0)
    return JobResults.of(
        submitted_s=jobs.submitted_s,
        first_start_s=outcome.first_start_s,
        finished_s=outcome.finished_s,
        jct_s=jct_s,
        wait_s=jct_s - per_job(held_s),
        ideal_s=ideal_s,
        gpus=jobs.gpus,
        tenant=jobs.tenant,
        partition=jobs.partition,
        preemptions=ended(StretchEnd.PREEMPTED),
        migrations=ended(StretchEnd.MOVED),
        failures=ended(StretchEnd.FAILED),
        held_gpu_s=per_job(held_s * stretches.gpus),
        lost_gpu_s=per_job((stretches.idle_s + redone_s) * stretches.gpus),
        fairness=jct_s / (ideal_s * _contention(outcome)),
        tardiness_s=tardiness_s,
        tardiness_cost=tardiness_s * jobs.tardiness_weight,
        energy_j=per_job(spent.stretch_j),
        energy_cost=per_job(spent.stretch_cost),
        carbon_g=per_job(spent.stretch_carbon_g),
    )


def _ideal_s(outcome: Outcome) -> F64:
    """Run time alone on the asked GPUs of one node."""
    setting = outcome.setting
    jobs = setting.jobs
    if (jobs.profile < 0).all():
        return jobs.work
    truth = Truth(jobs, setting.machines, setting.profiles, setting.costs)
    rate = [truth.asked_rate(row, kind) for row, kind in enumerate(setting.first_types())]
    return np.asarray(jobs.work / np.array(rate), np.float64)


def _contention(outcome: Outcome) -> F64:
    """Over each job's life, how many times its fellows ask for the whole cluster; at least 1."""
    jobs, gpus = outcome.setting.jobs, outcome.setting.machines.gpus
    finished_s = np.where(np.isnan(outcome.finished_s), outcome.ended_s, outcome.finished_s)
    asked = jobs.gpus / gpus
    edges_s, at = np.unique(np.concatenate([jobs.submitted_s, finished_s]), return_inverse=True)
    change = np.zeros(len(edges_s))
    np.add.at(change, at, np.concatenate([asked, -asked]))
    level = np.maximum(np.cumsum(change), 1.0)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(edges_s))])
    life_s = np.maximum(finished_s - jobs.submitted_s, 1e-9)
    mean = (area[at[len(jobs) :]] - area[at[: len(jobs)]]) / life_s
    return np.asarray(np.maximum(mean, 1.0), np.float64)
