"""Two policies on the same queue, side by side and in one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Figure, its words, its unit; less is better of each.
FIGURES = (
    ("energy_cost", "Energy cost", ""),
    ("energy_kwh", "Energy", "kWh"),
    ("jct_mean_s", "Mean completion time", "s"),
    ("jct_p95_s", "Completion time, 95 %", "s"),
    ("makespan_s", "Until the last has ended", "s"),
)
ALIKE = 0.005


@dataclass(frozen=True, slots=True)
class Line:
    words: str
    unit: str
    values: list[float | None]

    @property
    def change(self) -> float | None:
        """Of the last against the first."""
        first, last = self.values[0], self.values[-1]
        return None if not first or last is None else last / first - 1


@dataclass(frozen=True, slots=True)
class Comparison:
    labels: list[str]
    lines: list[Line]
    sentence: str


def comparison(results: Mapping[str, Any] | None, now_label: str) -> Comparison | None:
    """None while there are no results; today's policy stands first."""
    if not results or now_label not in results["intervals"]:
        return None
    means = results["intervals"]
    labels = [now_label, *(label for label in means if label != now_label)]
    lines = [
        Line(words, unit, [_mean(means[label], figure) for label in labels])
        for figure, words, unit in FIGURES
        if figure in means[now_label]
    ]
    sentences = [sentence(means[now_label], means[label], label) for label in labels[1:]]
    return Comparison(labels, lines, " ".join(sentences))


def sentence(now: Mapping[str, Any], other: Mapping[str, Any], label: str) -> str:
    """`andreas: 18 % cheaper, 10 % slower.`"""
    cost = _change(_mean(now, "energy_cost"), _mean(other, "energy_cost"), "cheaper", "dearer")
    time = _change(_mean(now, "jct_mean_s"), _mean(other, "jct_mean_s"), "faster", "slower")
    return f"{label}: {cost}, {time}."


def _change(before: float | None, after: float | None, less: str, more: str) -> str:
    if not before or after is None:
        return f"not known whether {less}"
    share = after / before - 1
    if abs(share) < ALIKE:
        return f"not {less}"
    return f"{abs(share):.0%}".replace("%", " %") + f" {less if share < 0 else more}"


def _mean(figures: Mapping[str, Any], name: str) -> float | None:
    return (figures.get(name) or {}).get("mean")
