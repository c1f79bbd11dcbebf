"""What a comparison of policies comes to, in a sentence."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from simulator.metrics.intervals import Interval
from simulator.report.figures import FIGURES, figure_text, unit_of

# Less than that is said to be the same.
ALIKE = 0.005
Figures = Mapping[str, Interval]


class DifferenceWords(NamedTuple):
    less: str
    more: str
    same: str
    times: str


_MONEY = DifferenceWords("cheaper", "dearer", "no cheaper", "as dear")
_ENERGY = DifferenceWords("less energy", "more energy", "no less energy", "as much energy")
_TIME = DifferenceWords("faster", "slower", "no faster", "as slow")


def conclusion(by_label: Mapping[str, Figures]) -> str:
    """Against the first policy: the only other one, or the cheapest and the fastest of them."""
    (first, given), *others = by_label.items()
    if not others:
        return f"{first}: {_alone(given)}.{_unfinished(by_label)}"
    # Whoever leaves other jobs unfinished looks cheap and fast.
    found = {name: each for name, each in others if _ended(each) == _ended(given)}
    if not found:
        return f"Nothing can be compared with {first}.{_unfinished(by_label)}"
    spent = _spender(given)
    cheapest = min(found, key=lambda label: _known(spent(found[label])))
    fastest = min(found, key=lambda label: _known(found[label]["jct_mean_s"].mean))
    shown = {"Cheapest": cheapest, "Fastest": fastest}
    share = change(spent(given), spent(found[cheapest]))
    if share is None or abs(share) < ALIKE:
        del shown["Cheapest"]
    if len(found) == 1 or cheapest == fastest:
        shown = {"": fastest}
    said = [_sentence(lead, label, found[label], first, given) for lead, label in shown.items()]
    return " ".join(said) + _unfinished(by_label)


def sentence_parts(given: Figures, other: Figures) -> list[str]:
    """`18 % cheaper`, `10 % slower`: how `other` differs from `given`."""
    spent = _spender(given)
    parts = [
        _words(spent(given), spent(other), _MONEY if spent is _bill else _ENERGY),
        _words(given["jct_mean_s"].mean, other["jct_mean_s"].mean, _TIME),
    ]
    return [part for part in parts if part]


def change(before: float, after: float) -> float | None:
    """As a share of what it was; None where that says nothing."""
    if not before or math.isnan(before) or math.isnan(after):
        return None
    return after / before - 1


def _sentence(lead: str, label: str, other: Figures, first: str, given: Figures) -> str:
    parts = sentence_parts(given, other)
    if not parts:
        return f"{label} and {first} have nothing to compare."
    # "2.1 times as dear than" is no English.
    link = "as" if " times " in parts[-1] else "than"
    named = f"{lead} of the others is {label}" if lead else label
    return f"{named}: {', '.join(parts)} {link} {first}."


def _words(before: float, after: float, said: DifferenceWords) -> str:
    share = change(before, after)
    if share is None:
        return ""
    if abs(share) < ALIKE:
        return said.same
    if share >= 1:
        return f"{1 + share:.1f} times {said.times}"
    return f"{abs(share):.0%}".replace("%", " %") + f" {said.less if share < 0 else said.more}"


def _spender(given: Figures) -> Callable[[Figures], float]:
    """Money where energy has a price, else energy."""
    bill = _bill(given)
    return _bill if bill and not math.isnan(bill) else _energy


def _bill(given: Figures) -> float:
    """What is paid for the highest draw is part of it."""
    return given["energy_cost"].mean + given["demand_cost"].mean


def _energy(given: Figures) -> float:
    return given["energy_kwh"].mean


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _alone(given: Figures) -> str:
    parts = []
    for figure in ("jct_mean_s", "energy_kwh", "energy_cost", "demand_cost"):
        mean = given[figure].mean
        if mean and not math.isnan(mean):
            unit = unit_of(figure, [mean])
            text = f"{figure_text(mean / unit.size)} {unit.name}".strip()
            parts.append(f"{FIGURES[figure].words} {text}")
    return ", ".join(parts) or "no job has ended"


def _ended(given: Figures) -> float:
    return given["finished"].mean


def _unfinished(by_label: Mapping[str, Figures]) -> str:
    left = {label: each["jobs"].mean - _ended(each) for label, each in by_label.items()}
    said = [
        f"{label} leaves {figure_text(jobs)} of {figure_text(by_label[label]['jobs'].mean)} jobs"
        " unfinished"
        for label, jobs in left.items()
        if jobs > 0
    ]
    return f" {'; '.join(said)}." if said else ""
