"""The plane of energy and completion time as a picture."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from simulator.experiments.powerflow_curve import Point, front
from simulator.report.png import SIZE_INCHES

MARKERS = "osD^v<>P"


def curve_figure(swept: Sequence[Point], beside: Mapping[str, Point]) -> Figure:
    """The sweep as points with its front as a line, and every baseline."""
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    line = front(swept)
    axes.plot([p.energy_kwh / 1000 for p in line], [p.jct_s / 3600 for p in line], lw=1.5)
    axes.plot(
        [p.energy_kwh / 1000 for p in swept],
        [p.jct_s / 3600 for p in swept],
        ".",
        color="C0",
        label="PowerFlow-style",
    )
    for at, (name, point) in enumerate(beside.items()):
        axes.plot(
            [point.energy_kwh / 1000],
            [point.jct_s / 3600],
            MARKERS[at % len(MARKERS)],
            color=f"C{at + 1}",
            label=name,
        )
    axes.set(xlabel="MWh", ylabel="mean completion time, hours", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    return figure
