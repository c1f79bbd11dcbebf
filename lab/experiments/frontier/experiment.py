"""Every policy of the registry in money and in hours, under a real year of electricity prices."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.experiments.bars import Bar
from lab.experiments.frontier.front import Found
from lab.experiments.frontier.gap import GapCase, gap_cases
from lab.experiments.frontier.report import tables_of, write_report
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
from lab.experiments.frontier.settings import METHODS, PUE, WINDOWS
from lab.experiments.powerflow.settings import COSTS, PACE
from lab.experiments.runs import cpu_s, run_all
from simulator.progress import say, tell
from simulator.report.files import write_json
from simulator.report.table import aligned

GRID = Grid(WINDOWS, gap_cases())


def reproduce(directory: Path, given: argparse.Namespace) -> int:
    cases = GRID.cases()
    runs = {case.name(): case for case in cases}
    records = run_all(directory, runs, run_any, processes=given.processes, fresh=given.fresh)
    rows = rows_of(records, GRID)
    against: dict[tuple[str, str], Found] = {
        (workload, traded): found_in(rows, workload, traded)
        for traded in TRADED
        for workload in GRID.workloads
    }
    studies = {
        "sharing": sharing_of(records, GRID),
        "misled": misled_of(records, GRID),
        "gap": gap_of(records, GRID),
    }
    bars = bars_of(dominating(against), studies["misled"], studies["gap"])
    write_json(
        directory / "results.json",
        {
            "settings": _settings(),
            "seeds": GRID.windows,
            "cpu_s": cpu_s(records),
            "runs": [{**_told(case), **records[case.name()]} for case in cases],
            "rows": [_plain(row) for row in rows],
            "fronts": [
                {"workload": workload, "traded": traded, **by._asdict()}
                for (workload, traded), by in against.items()
            ],
            **studies,
            "bars": [bar.plain() for bar in bars],
        },
    )
    tables = tables_of(rows, against, studies)
    write_report(directory, rows, tables, bars)
    _tell(tables, bars)
    say(f"written to {directory}")
    return 0


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


def _told(case: Any) -> dict[str, Any]:
    return {"run": case.name(), "study": "gap" if isinstance(case, GapCase) else "", **asdict(case)}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value._asdict() if hasattr(value, "_asdict") else value for name, value in row.items()
    }


def _tell(tables: Sequence[tuple[str, Sequence[Sequence[str]]]], bars: Sequence[Bar]) -> None:
    for heading, table in tables:
        tell(heading)
        tell(aligned(table))
        tell("")
    for bar in bars:
        tell(bar.line())
