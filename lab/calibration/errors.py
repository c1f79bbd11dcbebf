"""Relative errors of what was left out: by GPU type and application, inside and past the ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lab.calibration.left_out import Record
from lab.calibration.measurements import CapCase, CountSeries, MatrixCase
from simulator.report.figures import figure_text


class Errors(NamedTuple):
    """`inside` between the ends of the range (interpolated), `outside` at its ends."""

    points: int
    mean: float
    worst: float
    inside: float
    outside: float

    def cells(self) -> list[str]:
        percents = (self.mean, self.worst, self.inside, self.outside)
        return [str(self.points), *(figure_text(100 * value) for value in percents)]


HEADINGS = ["points", "mean %", "worst %", "inside %", "at ends %"]


def errors_of(rows: Iterable[Record]) -> Errors:
    errors = [(abs(row["left_out"] / row["measured"] - 1.0), row["end"]) for row in rows]
    every = [error for error, _ in errors]
    return Errors(
        len(errors),
        _mean(every),
        max(every, default=np.nan),
        _mean([error for error, end in errors if not end]),
        _mean([error for error, end in errors if end]),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


Key = tuple[str, str]
Cases = Sequence[CapCase] | Sequence[CountSeries]


def by_application(cases: Cases, records: Mapping[str, Record]) -> dict[Key, list[Record]]:
    """Rows of every GPU type and application, over all its batches."""
    found: dict[Key, list[Record]] = defaultdict(list)
    for case in cases:
        key = (case.gpu_type, f"{_source(case)}{case.application}")
        found[key] += records[case.name]["rows"]
    return {key: rows for key, rows in found.items() if rows}


def _source(case: CapCase | CountSeries) -> str:
    return f"{case.source.split()[0]} " if isinstance(case, CountSeries) else ""


def error_table(title: str, grouped: Mapping[Key, list[Record]]) -> list[list[str]]:
    """One line per application, one per GPU type, one for all."""
    table = [[title, *HEADINGS]]
    by_type: dict[str, list[Record]] = defaultdict(list)
    for (gpu_type, application), rows in grouped.items():
        table.append([f"{gpu_type} {application}", *errors_of(rows).cells()])
        by_type[gpu_type] += rows
    for gpu_type, rows in by_type.items():
        table.append([f"{gpu_type}, all", *errors_of(rows).cells()])
    everything = [row for rows in by_type.values() for row in rows]
    return [*table, ["all", *errors_of(everything).cells()]]


def matrix_table(cases: Sequence[MatrixCase], records: Mapping[str, Record]) -> list[list[str]]:
    table = [["sensitivity", "by CPUs left out %", "worst %", "by memory left out %", "worst %"]]
    for case in cases:
        cells: list[str] = []
        for axis in ("cpus_per_gpu", "mem_mib_per_gpu"):
            rows = [row for row in records[case.name]["rows"] if row["axis"] == axis]
            found = errors_of(rows)
            cells += [figure_text(100 * found.mean), figure_text(100 * found.worst)]
        table.append([case.application, *cells])
    return table


def plain_rows(grouped: Mapping[Key, list[Record]], what: str) -> list[dict[str, Any]]:
    """For results.json: the errors of every GPU type and application."""
    return [
        {"what": what, "gpu_type": gpu_type, "application": name, **errors_of(rows)._asdict()}
        for (gpu_type, name), rows in grouped.items()
    ]
