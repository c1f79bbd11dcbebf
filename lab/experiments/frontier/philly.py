"""The Philly-derived workload of the frontier: a week of the busiest virtual cluster, on A100s."""

from functools import cache

import numpy as np

from lab.experiments.frontier.world import WEEK_S, FrontierWorld, begins_s, with_demands
from lab.experiments.powerflow import settings
from lab.experiments.powerflow.settings import FIRST_MONDAY_AT, MOST_GPUS
from simulator.workload import Workload

WEEKS = 10
"""The trace's busy ones; later windows see them again, with other models and prices."""


@cache
def world(window: int) -> FrontierWorld:
    jobs = workload(window)
    return FrontierWorld(
        machines=settings.machines(),
        profiles=settings.profiles(),
        jobs=jobs,
        most_gpus=np.full(len(jobs), MOST_GPUS),
    )


def workload(window: int) -> Workload:
    from_s = FIRST_MONDAY_AT.timestamp() + window % WEEKS * WEEK_S
    jobs = settings.modelled(from_s, from_s + WEEK_S, seed=window)
    table = settings.profiles()
    at = np.searchsorted(table.gpu_counts, jobs.gpus)
    run_s = jobs.work / table.throughput[jobs.profile, 0, at, -1]
    moved = jobs.but(submitted_s=jobs.submitted_s - from_s + begins_s(window))
    return with_demands(moved, run_s, window)
