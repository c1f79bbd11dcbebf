"""Everything a study leaves behind in its directory."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from simulator.report.conclusion import conclusion
from simulator.report.figures import figure_text, heading, unit_of
from simulator.report.files import write_json, write_summaries
from simulator.report.page import CURVES_SHOWN, SIDE_BY_SIDE, PlottedCurve, page
from simulator.report.png import write_plots
from simulator.report.table import comparison_table
from simulator.scenario.schema import Scenario
from simulator.study import CellResult, intervals


def write_study(directory: Path, scenario: Scenario, results: Sequence[CellResult]) -> None:
    """results.json, summary.csv, report.html and PNG plots; plots show each label's first seed."""
    directory.mkdir(parents=True, exist_ok=True)
    by_label = intervals(results)
    write_json(
        directory / "results.json",
        {
            "scenario": msgspec.to_builtins(scenario, builtin_types=()),
            "rows": [
                {
                    "policy": r.label,
                    "seed": r.seed,
                    **r.summary,
                    "tenants": r.tenants,
                    "partitions": r.partitions,
                }
                for r in results
            ],
            "intervals": {
                label: {name: given._asdict() for name, given in figures.items()}
                for label, figures in by_label.items()
            },
        },
    )
    write_summaries(
        directory / "summary.csv",
        [({"policy": r.label, "seed": r.seed}, r.summary) for r in results],
    )
    curves = first_curves(results)
    write_plots(directory, curves)
    text = page(
        title=scenario.name or "Simulation",
        facts={"Seeds": ", ".join(map(str, scenario.seeds)), "Policies": ", ".join(by_label)},
        conclusion=conclusion(by_label),
        tables=[(SIDE_BY_SIDE, comparison_table(by_label)), *group_tables(results)],
        curves=curves,
        notes=list(dict.fromkeys(line for r in results for line in r.read)),
    )
    (directory / "report.html").write_text(text)


def first_curves(results: Sequence[CellResult]) -> list[PlottedCurve]:
    first: dict[str, CellResult] = {}
    for result in results:
        first.setdefault(result.label, result)
    return [PlottedCurve(label, r.series) for label, r in first.items()][:CURVES_SHOWN]


def group_tables(results: Sequence[CellResult]) -> list[tuple[str, list[list[str]]]]:
    """Tenants and partitions of the first run, where there is more than one of them."""
    first = results[0]
    shown = ("jobs", "jct_mean_s", "wait_mean_s", "preemptions", "gpu_hours", "energy_kwh")
    units = {name: unit_of(name, [first.summary[name]]) for name in shown}
    tables = []
    for title, groups in (("Tenants", first.tenants), ("Partitions", first.partitions)):
        if 1 < len(groups) <= 60:
            rows = [["name", *(heading(name, unit) for name, unit in units.items())]]
            rows += [
                [name, *(figure_text(figures[figure] / units[figure].size) for figure in shown)]
                for name, figures in groups.items()
            ]
            tables.append((f"{title} ({first.label}, seed {first.seed})", rows))
    return tables
