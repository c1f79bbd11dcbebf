"""Two windows of the frontier, a few policies: minutes, to compare one commit with another."""

from dataclasses import asdict
from typing import Any

from lab.experiments.frame import Experiment, ExperimentFindings, Records, Table, named
from lab.experiments.frontier.run import run_any
from lab.experiments.frontier.settings import METHODS, FrontierCase, WorkloadName, dial

WINDOWS: dict[WorkloadName, int] = {"philly": 2, "openb": 3}
"""Busy enough for lateness to cost something under most policies."""
COMPARED = (
    "fifo-backfill", "synergy", "andreas", "powerflow 0.7", dial(0.03), dial(0.1), dial(1.0),
)  # fmt: skip
# Names, then the figure of a record and the number of its digits that are shown.
SHOWN = {
    "energy cost": ("energy_cost", 2),
    "mean JCT, s": ("jct_mean_s", 1),
    "tardiness cost": ("tardiness_cost", 2),
    "total cost": ("total_cost", 2),
    "late jobs": ("deadline_misses", 0),
    "finished": ("finished", 0),
}


def cases() -> list[FrontierCase]:
    return [
        FrontierCase(workload, window, method)
        for workload, window in WINDOWS.items()
        for method in COMPARED
    ]


def findings(records: Records) -> ExperimentFindings:
    """Nothing that differs between two runs of one commit, so that outputs can be compared."""
    tables = [
        Table(f"{workload}, window {window}", [["method", *SHOWN], *_rows(records, workload)])
        for workload, window in WINDOWS.items()
    ]
    runs = [{**asdict(case), **records[case.name()]} for case in cases()]
    return ExperimentFindings(results={"runs": runs}, bars=[], tables=tables)


def _rows(records: Records, workload: WorkloadName) -> list[list[str]]:
    found = {case.method: records[case.name()] for case in cases() if case.workload == workload}
    return [[method, *_shown(record)] for method, record in found.items()]


def _shown(record: dict[str, Any]) -> list[str]:
    return [f"{record[figure]:.{digits}f}" for figure, digits in SHOWN.values()]


EXPERIMENT = Experiment(
    title="Two windows of the frontier",
    notes=["The worlds of the frontier; too few windows for a claim."],
    settings=lambda: {"methods": {name: METHODS[name]._asdict() for name in COMPARED}},
    seeds=WINDOWS,
    cases=lambda: named(cases()),
    run=run_any,
    findings=findings,
)
