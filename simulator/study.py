"""A study: every policy of a scenario with every seed, on as many processes as asked for."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from policies.registry import build as build_policy
from simulator.engine import Engine, Progress
from simulator.measure import RunFigures, measure
from simulator.metrics.intervals import Interval, interval
from simulator.metrics.summary import Summary
from simulator.report.series import PlotSeries, series_of
from simulator.scenario.build import build
from simulator.scenario.schema import PolicySection, Scenario


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a policy of the scenario and a seed."""

    policy: PolicySection
    seed: int


class CellResult(NamedTuple):
    label: str
    seed: int
    summary: Summary
    tenants: dict[str, Summary]
    partitions: dict[str, Summary]
    series: PlotSeries
    read: list[str]


def cells(scenario: Scenario) -> list[Cell]:
    return [Cell(policy, seed) for policy in scenario.policies for seed in scenario.seeds]


def run_cell(
    scenario: Scenario, cell: Cell, beside: Path, on_progress: Progress | None = None
) -> tuple[CellResult, RunFigures]:
    built = build(scenario, cell.seed, beside)
    policy = build_policy(cell.policy.name, cell.policy.parameters)
    outcome = Engine(built.setting, policy, built.pace).run(on_progress)
    measured = measure(outcome, built.tariff)
    read = [line for report in built.reports for line in report.lines()]
    result = CellResult(
        cell.policy.title(),
        cell.seed,
        measured.summary,
        measured.tenants,
        measured.partitions,
        series_of(outcome, measured),
        read,
    )
    return result, measured


def _run_in_child(scenario: Scenario, cell: Cell, beside: Path) -> CellResult:
    return run_cell(scenario, cell, beside)[0]


def run_cells(
    scenario: Scenario, planned: Sequence[Cell], beside: Path, processes: int
) -> Iterator[CellResult]:
    """Results as they come."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures: list[Future[CellResult]] = [
            pool.submit(_run_in_child, scenario, cell, beside) for cell in planned
        ]
        for future in as_completed(futures):
            yield future.result()


def cores() -> int:
    return len(os.sched_getaffinity(0))


def intervals(results: Sequence[CellResult]) -> dict[str, dict[str, Interval]]:
    """Over the seeds of every label, figure by figure."""
    labels = list(dict.fromkeys(result.label for result in results))
    return {
        label: {
            figure: interval([r.summary[figure] for r in results if r.label == label])
            for figure in results[0].summary
        }
        for label in labels
    }


def differences(results: Sequence[CellResult], figure: str, label: str, against: str) -> Interval:
    """Of a figure between two labels, paired by seed."""
    by: Callable[[str], dict[int, float]] = lambda name: {  # noqa: E731
        r.seed: r.summary[figure] for r in results if r.label == name
    }
    mine, theirs = by(label), by(against)
    return interval([mine[seed] - theirs[seed] for seed in sorted(mine.keys() & theirs.keys())])
