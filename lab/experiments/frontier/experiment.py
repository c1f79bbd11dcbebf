"""Every policy of the registry in money and in hours, under a real year of electricity prices."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from lab.experiments.frame import Experiment, ExperimentFindings, Records, named
from lab.experiments.frontier.front import Found
from lab.experiments.frontier.gap import GapCase, gap_cases
from lab.experiments.frontier.report import plots_of, tables_of
from lab.experiments.frontier.results import (
    TRADED,
    Grid,
    bars_of,
    found_in,
    gap_of,
    misled_of,
    rows_of,
    sharing_of,
)
from lab.experiments.frontier.run import run_any
from lab.experiments.frontier.settings import METHODS, PUE, WINDOWS, FrontierCase
from lab.experiments.powerflow.settings import COSTS, PACE


def findings(grid: Grid, records: Records) -> ExperimentFindings:
    rows = rows_of(records, grid)
    against: dict[tuple[str, str], Found] = {
        (workload, traded): found_in(rows, workload, traded)
        for traded in TRADED
        for workload in grid.workloads
    }
    studies = {
        "sharing": sharing_of(records, grid),
        "misled": misled_of(records, grid),
        "gap": gap_of(records, grid),
    }
    return ExperimentFindings(
        results={
            "runs": [{**_case_row(case), **records[case.name()]} for case in grid.cases()],
            "rows": [_plain(row) for row in rows],
            "fronts": [
                {"workload": workload, "traded": traded, **by._asdict()}
                for (workload, traded), by in against.items()
            ],
            **studies,
        },
        bars=bars_of(dominating(against), studies["misled"], studies["gap"]),
        tables=tables_of(rows, against, studies),
        plots=plots_of(rows),
    )


def dominating(against: Mapping[tuple[str, str], Found]) -> dict[str, int]:
    """How many dominate fairwatt, over workloads, by what is traded."""
    return {
        what: sum(len(by.dominating) for (_, traded), by in against.items() if traded == figure)
        for figure, what in TRADED.items()
    }


def _settings() -> dict[str, Any]:
    return {
        "methods": {name: method._asdict() for name, method in METHODS.items()},
        "pue": PUE,
        "costs": asdict(COSTS),
        "pace": asdict(PACE),
    }


def _case_row(case: Any) -> dict[str, Any]:
    return {"run": case.name(), "study": "gap" if isinstance(case, GapCase) else "", **asdict(case)}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value._asdict() if hasattr(value, "_asdict") else value for name, value in row.items()
    }


def frontier(grid: Grid) -> Experiment[FrontierCase | GapCase]:
    return Experiment(
        title="The frontier: every policy, in money and in hours",
        notes=[
            "DE-LU prices of 2021, twelve windows. Energy of all nodes, idle ones included; PUE "
            "1.3. The numbers at fairwatt's points are its price of an hour of waiting."
        ],
        settings=_settings,
        seeds=grid.windows,
        cases=lambda: named(grid.cases()),
        run=run_any,
        findings=partial(findings, grid),
    )


EXPERIMENT = frontier(Grid(WINDOWS, gap_cases()))
