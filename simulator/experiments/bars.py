"""What an experiment is held to, and whether it holds."""

from typing import Any, NamedTuple

from simulator.metrics.intervals import Interval
from simulator.report.table import figure_text


class Bar(NamedTuple):
    name: str
    expected: str
    value: Interval
    holds: bool

    def line(self) -> str:
        low, high = figure_text(self.value.low), figure_text(self.value.high)
        span = "" if low == high else f" [{low}, {high}]"
        verdict = "holds" if self.holds else "does not hold"
        return f"{self.name}: {figure_text(self.value.mean)}{span}, {self.expected}: {verdict}"

    def plain(self) -> dict[str, Any]:
        """For results.json."""
        return {**self._asdict(), "value": self.value._asdict()}


def at_least(name: str, value: float, bar: float) -> Bar:
    return Bar(name, f"at least {bar:g}", Interval(value, value, value), value >= bar)


def at_most(name: str, value: float, bar: float) -> Bar:
    return Bar(name, f"at most {bar:g}", Interval(value, value, value), value <= bar)
