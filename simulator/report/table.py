"""Tables of figures with their intervals, for the terminal."""

import math
from collections.abc import Mapping, Sequence

from simulator.metrics.intervals import Interval

COLUMNS: tuple[tuple[str, str, float], ...] = (
    ("jct_mean_s", "JCT mean h", 3600),
    ("jct_median_s", "median h", 3600),
    ("jct_p99_s", "p99 h", 3600),
    ("wait_mean_s", "wait mean h", 3600),
    ("gpu_utilisation", "utilised", 1),
    ("fragmentation", "fragmented", 1),
    ("preemptions", "preempted", 1),
    ("migrations", "moved", 1),
    ("lost_gpu_hours", "lost GPU h", 1),
    ("energy_kwh", "MWh", 1000),
    ("energy_cost", "energy cost", 1),
)
"""Figure, heading, and what the figure is divided by."""


def figure_text(value: float) -> str:
    if math.isnan(value):
        return "-"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def interval_text(given: Interval, unit: float) -> str:
    text = figure_text(given.mean / unit)
    half = (given.high - given.mean) / unit
    return text if math.isnan(half) or not half else f"{text} ±{figure_text(half)}"


def policy_table(by_label: Mapping[str, Mapping[str, Interval]]) -> str:
    rows = [["policy", *(heading for _, heading, _ in COLUMNS)]]
    for label, figures in by_label.items():
        cells = [interval_text(figures[figure], unit) for figure, _, unit in COLUMNS]
        rows.append([label, *cells])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)
