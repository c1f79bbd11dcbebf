"""From the outcome of a run to its figures: overall, per tenant and per partition."""

from dataclasses import dataclass

import numpy as np

from policies.pricing.tariff import Tariff
from simulator.energy import DrawnPower, demand_cost, draw, energy
from simulator.engine import Outcome
from simulator.log import Stretches
from simulator.metrics.jobs import JobResults, job_results
from simulator.metrics.summary import Summary, of_cluster, of_jobs


@dataclass(frozen=True, slots=True, eq=False)
class RunFigures:
    """`summary` counts the idle draw of the nodes; tenants and partitions only their own work."""

    summary: Summary
    tenants: dict[str, Summary]
    partitions: dict[str, Summary]
    jobs: JobResults
    stretches: Stretches
    drawn: DrawnPower


def measure(outcome: Outcome, tariff: Tariff | None = None) -> RunFigures:
    setting = outcome.setting
    stretches = outcome.log.table()
    spent = energy(outcome, stretches)
    jobs = job_results(outcome, stretches, spent)
    drawn = draw(outcome, stretches)
    summary = {**of_jobs(jobs, np.ones(len(jobs), np.bool_)), **of_cluster(outcome, jobs)}
    summary["energy_kwh"] += spent.idle_j / 3.6e6
    summary["energy_cost"] += spent.idle_cost
    summary["carbon_kg"] += spent.idle_carbon_g / 1000
    summary["demand_cost"] = float(demand_cost(drawn, tariff)) if tariff else 0.0
    return RunFigures(
        summary=summary,
        tenants={
            name: of_jobs(jobs, jobs.tenant == row) for row, name in enumerate(setting.tenant_names)
        },
        partitions={
            name: of_jobs(jobs, jobs.partition == row)
            for row, name in enumerate(setting.machines.partitions.name)
        },
        jobs=jobs,
        stretches=stretches,
        drawn=drawn,
    )
