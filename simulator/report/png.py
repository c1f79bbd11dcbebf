"""The plots of a study as PNG files, for papers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from simulator.report.page import PlottedCurve

SIZE_INCHES = (6.0, 3.4)
DPI = 160


def write_plots(directory: Path, curves: Sequence[PlottedCurve]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    _completion_times(directory / "jct_cdf.png", curves)
    for name, x, y, label in (
        ("allocation", "hours", "allocated", "share of GPUs allocated"),
        ("queue", "hours", "queued", "jobs waiting"),
        ("power", "hours", "kw", "power, kW"),
        ("fragmentation", "fragmentation_hours", "fragmentation", "share of free GPUs useless"),
    ):
        lines = [(c.label, getattr(c.series, x), getattr(c.series, y)) for c in curves]
        _over_time(directory / f"{name}.png", lines, label)


def _completion_times(path: Path, curves: Sequence[PlottedCurve]) -> None:
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    for curve in curves:
        hours = [max(s, 1.0) / 3600 for s in curve.series.jct_s]
        axes.plot(hours, [i / max(len(hours) - 1, 1) for i in range(len(hours))], label=curve.label)
    axes.set(xscale="log", xlabel="job completion time, hours", ylabel="share of jobs")
    _save(path, figure)


def _over_time(path: Path, lines: Sequence[tuple[str, Any, Any]], label: str) -> None:
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    for name, hours, values in lines:
        axes.plot(hours, [float("nan") if v is None else v for v in values], label=name, lw=1)
    axes.set(xlabel="hours since the start", ylabel=label)
    _save(path, figure)


def _save(path: Path, figure: Figure) -> None:
    (axes,) = figure.get_axes()
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=DPI)
