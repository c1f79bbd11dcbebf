"""The grid of the AnalySIM experiment, and one run of it."""

from itertools import product
from typing import Any

import msgspec
import numpy as np

from lab.experiments.analysim.settings import (
    PACE,
    AnalysimCase,
    Placement,
    Policy,
    Sharing,
    setting_of,
)
from lab.experiments.published import build_published
from simulator.engine import Engine
from simulator.measure import measure
from simulator.report.series import series_of

POLICIES: tuple[Policy, ...] = ("fifo", "sjf", "srtf", "las")
PLACEMENTS: tuple[Placement, ...] = ("consolidate", "best fit", "random")
SHARINGS: tuple[Sharing, ...] = ("static", "lending")
LOADS = (0.7, 0.85, 1.0)
BAR_LOAD = 1.0
SEEDS = (0, 1, 2, 3)
LARGE_GANG = 8
SWITCH = (False, True)


def grid() -> list[AnalysimCase]:
    """Every cell with the first seed, and the cells that bars are about with all seeds."""
    barred = [
        AnalysimCase("A", policy, "consolidate", preempt, move, "static", BAR_LOAD, seed)
        for seed in SEEDS
        for policy, preempt, move in product(POLICIES, SWITCH, SWITCH)
    ]
    cells_a = [
        AnalysimCase("A", policy, placement, preempt, move, sharing, load, SEEDS[0])
        for load in reversed(LOADS)
        for sharing, policy, placement, preempt, move in product(
            SHARINGS, POLICIES, PLACEMENTS, SWITCH, SWITCH
        )
    ]
    cells_b = [
        AnalysimCase("B", policy, placement, preempt, move, "none", 0.0, SEEDS[0])
        for policy, placement, preempt, move in product(POLICIES, PLACEMENTS, SWITCH, SWITCH)
    ]
    return list(dict.fromkeys([*barred, *cells_a, *cells_b]))


def plotted(case: AnalysimCase) -> bool:
    return (
        case.cluster == "A"
        and case.placement == "consolidate"
        and case.sharing == "static"
        and (case.load == BAR_LOAD and case.seed == SEEDS[0])
    )


def run_case(case: AnalysimCase) -> dict[str, Any]:
    """The record of a run; `large_wait_s` is the mean wait of gangs of a whole node or more."""
    setting = setting_of(case)
    outcome = Engine(setting, build_published(case.policy, case.parameters()), PACE).run()
    measured = measure(outcome)
    jobs = measured.jobs
    large = jobs.wait_s[(jobs.gpus >= LARGE_GANG) & ~np.isnan(jobs.finished_s)]
    series = series_of(outcome, measured) if plotted(case) else None
    return {
        "summary": measured.summary,
        "large_wait_s": float(large.mean()) if len(large) else float("nan"),
        "partitions": measured.partitions,
        "series": msgspec.to_builtins(series),
    }
