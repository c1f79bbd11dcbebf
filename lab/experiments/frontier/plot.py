"""The frontier as pictures: what policies trade for money, and what they cost in all."""

from collections.abc import Mapping, Sequence
from typing import Literal

from matplotlib.figure import Figure

from lab.experiments.frontier.front import Spot
from lab.experiments.powerflow.curve import front

SIZE_INCHES = (7.5, 4.6)
Scale = Literal["linear", "symlog"]
MARKERS = "osD^v<>PX*hp"


def trade_figure(
    dial: Mapping[str, Spot], others: Mapping[str, Spot], label: str, unit: float, scale: Scale
) -> Figure:
    """The dial's points with their front as a line, and every other policy as a point."""
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    line = front(list(dial.values()))
    axes.plot([p.cost for p in line], [p.other / unit for p in line], color="C0", lw=1.5)
    axes.plot(
        [p.cost for p in dial.values()],
        [p.other / unit for p in dial.values()],
        ".",
        color="C0",
        label="fairwatt, its dial",
    )
    for name, point in dial.items():
        axes.annotate(name.split()[-1], (point.cost, point.other / unit), fontsize=6)
    for at, (name, point) in enumerate(others.items()):
        axes.plot(
            [point.cost],
            [point.other / unit],
            MARKERS[at % len(MARKERS)],
            color=f"C{1 + at % 9}",
            ms=5,
            label=name,
        )
    axes.set(xlabel="energy cost of a window, USD", ylabel=label, yscale=scale)
    _finish(figure)
    return figure


def total_figure(names: Sequence[str], energy: Sequence[float], late: Sequence[float]) -> Figure:
    """Energy and tardiness of every policy on top of each other."""
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    axes.bar(range(len(names)), energy, label="energy")
    axes.bar(range(len(names)), late, bottom=energy, label="tardiness")
    axes.set_xticks(range(len(names)), names, rotation=75, fontsize=7)
    axes.set(ylabel="cost of a window, USD")
    _finish(figure)
    return figure


def _finish(figure: Figure) -> None:
    (axes,) = figure.get_axes()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6, ncols=2)
    figure.tight_layout()
