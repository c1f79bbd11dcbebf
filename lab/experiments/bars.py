"""What an experiment is held to, and whether it holds."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from simulator.metrics.intervals import Interval
from simulator.report.figures import figure_text


class Bar(NamedTuple):
    name: str
    expected: str
    value: Interval
    holds: bool

    def line(self) -> str:
        low, high = figure_text(self.value.low), figure_text(self.value.high)
        span = "" if low == high else f" [{low}, {high}]"
        return f"{self.name}: {figure_text(self.value.mean)}{span}, {self.expected}: {self.verdict}"

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "does not hold"

    def plain(self) -> dict[str, Any]:
        """For results.json."""
        return {**self._asdict(), "value": self.value._asdict()}


def at_least(name: str, value: float, bar: float) -> Bar:
    return Bar(name, f"at least {bar:g}", Interval(value, value, value), value >= bar)


def at_most(name: str, value: float, bar: float) -> Bar:
    return Bar(name, f"at most {bar:g}", Interval(value, value, value), value <= bar)


def facts_of(bars: Iterable[Bar]) -> dict[str, str]:
    """For the report's page."""
    return {
        bar.name: f"{figure_text(bar.value.mean)}, {bar.expected} ({bar.verdict})" for bar in bars
    }
