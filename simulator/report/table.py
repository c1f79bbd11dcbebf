"""Figures of policies side by side, as text and as rows of a page's table."""

import math
from collections.abc import Mapping, Sequence

from simulator.metrics.intervals import Interval
from simulator.report.conclusion import change
from simulator.report.figures import Unit, figure_text, heading, unit_of

COMPARED = (
    *("jct_mean_s", "jct_median_s", "jct_p99_s", "wait_mean_s", "makespan_s", "gpu_utilisation"),
    *("fragmentation", "preemptions", "migrations", "lost_gpu_hours", "deadline_misses"),
    *("energy_kwh", "energy_cost", "demand_cost", "carbon_kg"),
)
# Zero here means that the scenario says nothing of it, not that there is none.
_ONLY_IF_ANY = (
    *("migrations", "deadline_misses", "energy_kwh", "energy_cost", "demand_cost", "carbon_kg"),
)
Intervals = Mapping[str, Mapping[str, Interval]]


def comparison_table(by_label: Intervals, currency: str = "") -> list[list[str]]:
    """A column for each policy, with how far it is from the first."""
    first, *_ = by_label
    rows = [["", *by_label]]
    for figure in COMPARED:
        given = {label: figures[figure] for label, figures in by_label.items()}
        if figure in _ONLY_IF_ANY and not any(each.mean > 0 for each in given.values()):
            continue
        unit = unit_of(figure, (each.mean for each in given.values()), currency)
        cells = [
            _cell(each, unit, None if label == first else given[first])
            for label, each in given.items()
        ]
        rows.append([heading(figure, unit), *cells])
    return rows


def _cell(given: Interval, unit: Unit, against: Interval | None) -> str:
    text = interval_text(given, unit.size)
    share = None if against is None else change(against.mean, given.mean)
    return text if share is None else f"{text} ({share:+.0%})".replace("%", " %")


def interval_text(given: Interval, unit: float) -> str:
    text = figure_text(given.mean / unit)
    half = (given.high - given.mean) / unit
    return text if math.isnan(half) or not half else f"{text} ±{figure_text(half)}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
