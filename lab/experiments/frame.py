"""What every experiment is: cases to run, and what their records say in results, tables, a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from matplotlib.figure import Figure

from lab.experiments.bars import Bar, facts_of
from lab.experiments.runs import Case, Record, cpu_s, run_all
from simulator.metrics.summary import Summary
from simulator.progress import say, tell
from simulator.report.files import write_json, write_summaries
from simulator.report.page import PlottedCurve, page
from simulator.report.png import DPI, write_plots
from simulator.report.series import PlotSeries
from simulator.report.svg import svg_of
from simulator.report.table import aligned

Records = Mapping[str, Record]
"""By the name of the case."""


class Named(Protocol):
    def name(self) -> str: ...


NamedCase = TypeVar("NamedCase", bound=Named)


class Table(NamedTuple):
    heading: str
    rows: Sequence[Sequence[str]]
    """The first one holds the headings of the columns."""
    printed: bool = True
    """A long one stands on the page only."""


class Plot(NamedTuple):
    """A picture on the page, and if it has a `stem` also as `stem`.png beside it."""

    stem: str | None
    heading: str
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class ExperimentFindings:
    """What the records of an experiment say."""

    results: Mapping[str, Any]
    """Of results.json, beside settings, seeds, CPU seconds and bars."""
    bars: Sequence[Bar]
    tables: Sequence[Table]
    summaries: Sequence[tuple[Mapping[str, object], Summary]] = ()
    """Rows of summary.csv: names of the case, figures of its run."""
    curves: Sequence[PlottedCurve] = ()
    plots: Sequence[Plot] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[Case]):
    title: str
    notes: Sequence[str]
    settings: Callable[[], Mapping[str, Any]]
    seeds: Any
    cases: Callable[[], Mapping[str, Case]]
    """By name, which tells each from every other, for people and as the key of its record."""
    run: Callable[[Case], Record]
    """A function of a module, so that another process finds it."""
    findings: Callable[[Records], ExperimentFindings]


def named(cases: Sequence[NamedCase]) -> dict[str, NamedCase]:
    return {case.name(): case for case in cases}


def curves_of(shown: Mapping[str, Mapping[str, Any]]) -> list[PlottedCurve]:
    """Of records by their label; those that kept no series are left out."""
    found = {label: record.get("series") for label, record in shown.items()}
    return [
        PlottedCurve(label, msgspec.convert(series, PlotSeries))
        for label, series in found.items()
        if series is not None
    ]


def without_series(record: Mapping[str, Any]) -> dict[str, Any]:
    """What results.json keeps of a record."""
    return {name: value for name, value in record.items() if name != "series"}


def reproduce(
    experiment: Experiment[Any], directory: Path, *, processes: int, fresh: bool = False
) -> Records:
    """Run what is missing, write all there is to say to `directory`, print tables and bars."""
    records = run_all(
        directory, experiment.cases(), experiment.run, processes=processes, fresh=fresh
    )
    found = experiment.findings(records)
    write_json(
        directory / "results.json",
        {
            "settings": experiment.settings(),
            "seeds": experiment.seeds,
            "cpu_s": cpu_s(records),
            **found.results,
            "bars": [bar.plain() for bar in found.bars],
        },
    )
    if found.summaries:
        write_summaries(directory / "summary.csv", found.summaries)
    _write_page(directory, experiment, found)
    _print(found)
    say(f"written to {directory}")
    return records


def _write_page(directory: Path, experiment: Experiment[Any], found: ExperimentFindings) -> None:
    if found.curves:
        write_plots(directory, found.curves)
    for plot in found.plots:
        if plot.stem is not None:
            plot.figure.savefig(directory / f"{plot.stem}.png", dpi=DPI)
    text = page(
        title=experiment.title,
        facts=facts_of(found.bars),
        tables=[(table.heading, table.rows) for table in found.tables],
        curves=found.curves,
        figures=[(plot.heading, svg_of(plot.figure)) for plot in found.plots],
        notes=experiment.notes,
    )
    (directory / "report.html").write_text(text)


def _print(found: ExperimentFindings) -> None:
    for table in found.tables:
        if table.printed:
            tell(f"{table.heading}\n{aligned(table.rows)}\n")
    for bar in found.bars:
        tell(bar.line())
