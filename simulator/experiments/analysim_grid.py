"""The grid of the AnalySIM experiment, run on all cores and resumed where it was left."""

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from policies.registry import build
from simulator.engine import Engine
from simulator.experiments.analysim_settings import (
    PACE,
    Case,
    Placement,
    Policy,
    Sharing,
    setting_of,
)
from simulator.measure import measure
from simulator.metrics.summary import Summary
from simulator.progress import counting
from simulator.report.files import plain
from simulator.report.series import Series, series_of

POLICIES: tuple[Policy, ...] = ("fifo", "sjf", "srtf", "las")
PLACEMENTS: tuple[Placement, ...] = ("consolidate", "best fit", "random")
SHARINGS: tuple[Sharing, ...] = ("static", "lending")
LOADS = (0.7, 0.85, 1.0)
BAR_LOAD = 1.0
SEEDS = (0, 1, 2, 3)
LARGE_GANG = 8
SWITCH = (False, True)


class Record(NamedTuple):
    """What is kept of a run; `large_wait_s` is the mean wait of gangs of a whole node or more."""

    summary: Summary
    large_wait_s: float
    partitions: dict[str, Summary]
    series: Series | None


def grid() -> list[Case]:
    """Every cell with the first seed, and the cells that bars are about with all seeds."""
    barred = [
        Case("A", policy, "consolidate", preempt, move, "static", BAR_LOAD, seed)
        for seed in SEEDS
        for policy, preempt, move in product(POLICIES, SWITCH, SWITCH)
    ]
    cells_a = [
        Case("A", policy, placement, preempt, move, sharing, load, SEEDS[0])
        for load in reversed(LOADS)
        for sharing, policy, placement, preempt, move in product(
            SHARINGS, POLICIES, PLACEMENTS, SWITCH, SWITCH
        )
    ]
    cells_b = [
        Case("B", policy, placement, preempt, move, "none", 0.0, SEEDS[0])
        for policy, placement, preempt, move in product(POLICIES, PLACEMENTS, SWITCH, SWITCH)
    ]
    return list(dict.fromkeys([*barred, *cells_a, *cells_b]))


def plotted(case: Case) -> bool:
    return (
        case.cluster == "A"
        and case.placement == "consolidate"
        and case.sharing == "static"
        and (case.load == BAR_LOAD and case.seed == SEEDS[0])
    )


def run_case(case: Case) -> tuple[str, dict[str, Any]]:
    """The record of a run under its name, as it is stored."""
    setting = setting_of(case)
    outcome = Engine(setting, build(case.policy, case.parameters()), PACE).run()
    measured = measure(outcome)
    jobs = measured.jobs
    large = jobs.wait_s[(jobs.gpus >= LARGE_GANG) & ~np.isnan(jobs.finished_s)]
    series = series_of(outcome, measured) if plotted(case) else None
    record = Record(
        measured.summary,
        float(large.mean()) if len(large) else float("nan"),
        measured.partitions,
        series,
    )
    return case.name(), plain(msgspec.to_builtins(record._asdict()))


def run_grid(store: Path, cases: Iterable[Case], processes: int) -> dict[str, dict[str, Any]]:
    """Records by the name of the case that was run; those in `store` are not run again."""
    done = dict(_stored(store))
    todo = [c for c in dict.fromkeys(case.settled() for case in cases) if c.name() not in done]
    context = multiprocessing.get_context("spawn")
    store.parent.mkdir(parents=True, exist_ok=True)
    with (
        counting("analysim", len(todo)) as counter,
        store.open("a") as file,
        ProcessPoolExecutor(processes, mp_context=context, initializer=_be_nice) as pool,
    ):
        for future in as_completed([pool.submit(run_case, case) for case in todo]):
            name, record = future.result()
            done[name] = record
            file.write(json.dumps([name, record], allow_nan=False) + "\n")
            file.flush()
            counter.add(name)
    return done


def _be_nice() -> None:
    os.nice(5)


def _stored(store: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """A line cut short by a crash is run again."""
    if not store.exists():
        return
    for line in store.read_text().splitlines():
        try:
            name, record = json.loads(line)
        except ValueError:
            continue
        yield name, record
