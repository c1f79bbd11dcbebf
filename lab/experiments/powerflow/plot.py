"""The plane of energy and completion time as a picture."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from lab.experiments.powerflow.curve import CurvePoint, front
from simulator.report.png import SIZE_INCHES

MARKERS = "osD^v<>P"


def curve_figure(
    swept: Mapping[str, Sequence[CurvePoint]], beside: Mapping[str, CurvePoint]
) -> Figure:
    """Every sweep as points with its front as a line, and every baseline."""
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    for at, (name, points) in enumerate(swept.items()):
        line, color = front(points), f"C{at}"
        axes.plot(*_hours_over_mwh(line), color=color, lw=1.5)
        axes.plot(*_hours_over_mwh(points), ".", color=color, label=name)
    for at, (name, point) in enumerate(beside.items(), len(swept)):
        axes.plot(
            *_hours_over_mwh([point]),
            MARKERS[at % len(MARKERS)],
            color=f"C{at}",
            label=name,
        )
    axes.set(xlabel="MWh", ylabel="mean completion time, hours", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    figure.tight_layout()
    return figure


def _hours_over_mwh(points: Sequence[CurvePoint]) -> tuple[list[float], list[float]]:
    return [p.energy_kwh / 1000 for p in points], [p.jct_s / 3600 for p in points]
