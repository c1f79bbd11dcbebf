"""The figures of a run in words, each in the unit that its size is read best in."""

import math
from collections.abc import Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    words: str
    kind: str


FIGURES = {
    "jct_mean_s": Figure("mean completion time", "time"),
    "jct_median_s": Figure("median completion time", "time"),
    "jct_p99_s": Figure("99 % complete within", "time"),
    "wait_mean_s": Figure("mean wait", "time"),
    "makespan_s": Figure("all ended after", "time"),
    "gpu_utilisation": Figure("GPUs making progress", "share"),
    "fragmentation": Figure("free GPUs of no use to the queue", "share"),
    "preemptions": Figure("preemptions", "count"),
    "migrations": Figure("moves", "count"),
    "lost_gpu_hours": Figure("GPU time lost", "gpu_time"),
    "deadline_misses": Figure("missed deadlines", "count"),
    "energy_kwh": Figure("energy", "energy"),
    "energy_cost": Figure("energy cost", "money"),
    "demand_cost": Figure("demand charge", "money"),
    "carbon_kg": Figure("carbon", "carbon"),
    "jobs": Figure("jobs", "count"),
    "gpu_hours": Figure("GPU time", "gpu_time"),
}

# From so much on, in this unit, which is so many of the figure's own.
_UNITS: dict[str, tuple[tuple[float, str, float], ...]] = {
    "time": ((3600, "h", 3600), (60, "min", 60), (0, "s", 1)),
    "share": ((0, "%", 0.01),),
    "energy": ((1000, "MWh", 1000), (0, "kWh", 1)),
    "carbon": ((1000, "t CO₂", 1000), (0, "kg CO₂", 1)),
    "gpu_time": ((0, "GPU h", 1),),
}


class Unit(NamedTuple):
    name: str
    size: float


def unit_of(figure: str, values: Iterable[float], currency: str = "") -> Unit:
    """One for all that stand side by side: that of the largest."""
    kind = FIGURES[figure].kind
    if kind not in _UNITS:
        return Unit(currency if kind == "money" else "", 1)
    largest = max((abs(value) for value in values if not math.isnan(value)), default=0.0)
    return next(Unit(name, size) for least, name, size in _UNITS[kind] if largest >= least)


def heading(figure: str, unit: Unit) -> str:
    words = FIGURES[figure].words
    return f"{words}, {unit.name}" if unit.name else words


def figure_text(value: float) -> str:
    if math.isnan(value):
        return "-"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
