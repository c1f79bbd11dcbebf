"""What ANDREAS saves as a picture."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from simulator.report.png import SIZE_INCHES


def grouped_bars(
    groups: Mapping[str, Sequence[float]], places: Sequence[str], label: str
) -> Figure:
    """Bars side by side at every place, one colour per group."""
    figure = Figure(figsize=SIZE_INCHES)
    axes = figure.subplots()
    width = 0.8 / len(groups)
    for number, (name, values) in enumerate(groups.items()):
        axes.bar([at + number * width for at in range(len(places))], values, width, label=name)
    axes.set_xticks([at + 0.4 - width / 2 for at in range(len(places))], places)
    axes.set(ylabel=label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    return figure
