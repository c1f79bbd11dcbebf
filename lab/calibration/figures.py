"""Plots of measured against fitted, for the report."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.calibration.left_out import Record
from lab.calibration.measurements import CapCase, CountSeries
from lab.experiments.frame import Plot

COLUMNS = 3
PANEL_INCHES = (4.2, 2.8)
COLOURS = 10


def plots_of(
    caps: Sequence[CapCase], counts: Sequence[CountSeries], records: Mapping[str, Record]
) -> list[Plot]:
    plots = []
    for gpu_type in dict.fromkeys(case.gpu_type for case in caps):
        panels: dict[str, list[tuple[str, list[Record]]]] = defaultdict(list)
        for case in (one for one in caps if one.gpu_type == gpu_type):
            rows = records[case.name]["rows"]
            if rows:
                # Over the case's own mean, so that batches of very different epochs share a panel.
                mean = sum(row["measured"] for row in rows) / len(rows)
                panels[case.application].append((str(case.batch), _over(rows, mean)))
        title = f"{gpu_type}: energy of an epoch against the power cap, over its mean"
        plots.append(Plot(None, title, _grid(panels, "cap_w", "cap, W", log=False)))
    by_type: dict[str, dict[str, list[tuple[str, list[Record]]]]] = defaultdict(dict)
    for series in counts:
        if rows := records[series.name]["rows"]:
            batches = sorted({row["batch"] for row in rows})
            lines = [(f"{b:g}", [r for r in rows if r["batch"] == b]) for b in batches]
            by_type[f"{series.gpu_type}, {series.source}"][series.application] = lines
    for name, panels in by_type.items():
        title = f"{name}: steps per second against GPUs"
        plots.append(Plot(None, title, _grid(panels, "gpus", "GPUs", log=True)))
    return plots


def _over(rows: Sequence[Record], unit: float) -> list[Record]:
    names = ("measured", "fitted", "left_out")
    return [{**row, **{name: row[name] / unit for name in names}} for row in rows]


def _grid(
    panels: Mapping[str, Sequence[tuple[str, Sequence[Record]]]], x: str, label: str, *, log: bool
) -> Figure:
    rows = -(-len(panels) // COLUMNS)
    figure = Figure(figsize=(PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows))
    grid = figure.subplots(rows, COLUMNS, squeeze=False).ravel().tolist()
    for axes, (title, lines) in zip(grid, panels.items(), strict=False):
        for at, (name, points) in enumerate(lines):
            _line(axes, [row[x] for row in points], points, name, f"C{at % COLOURS}")
        axes.set_title(title, fontsize=8)
        axes.set_xlabel(label, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=5, title="batch", title_fontsize=5)
        if log:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
    for axes in grid[len(panels) :]:
        axes.remove()
    figure.tight_layout()
    return figure


def _line(axes: Axes, at: list[Any], rows: Sequence[Record], name: str, colour: str) -> None:
    def values(column: str) -> list[float]:
        return [row[column] for row in rows]

    axes.plot(at, values("fitted"), color=colour, lw=0.8, label=name)
    axes.plot(at, values("measured"), "o", color=colour, ms=3)
    axes.plot(at, values("left_out"), "x", color=colour, ms=3, mew=0.7)
