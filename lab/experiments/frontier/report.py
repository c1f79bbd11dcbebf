"""The frontier's tables and plots."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.experiments.frame import Plot, Table
from lab.experiments.frontier.front import Found
from lab.experiments.frontier.plot import Scale, total_figure, trade_figure
from lab.experiments.frontier.results import SHOWN, TRADED, Range, spots_of
from lab.experiments.frontier.settings import DIAL
from simulator.report.figures import figure_text

Rows = Sequence[Mapping[str, Any]]
HEADINGS = ("energy", "JCT h", "tardiness", "total")
UNITS = {"jct_mean_s": 3600.0}
LABELS: dict[str, tuple[str, Scale]] = {
    "jct_mean_s": ("mean completion time, hours", "linear"),
    "tardiness_cost": ("tardiness cost of a window, USD", "symlog"),
}


def tables_of(
    rows: Rows, against: Mapping[tuple[str, str], Found], studies: Mapping[str, Any]
) -> list[Table]:
    workloads = dict.fromkeys(row["workload"] for row in rows)
    return [
        *(
            Table(f"{name}: mean and range over windows, USD", _costs(rows, name))
            for name in workloads
        ),
        Table("Against fairwatt's front", _fronts(against)),
        Table("fairwatt, default dial", _studies(studies)),
    ]


def plots_of(rows: Rows) -> list[Plot]:
    return [
        Plot(f"{workload}_{name}", f"{workload}: {heading}", figure)
        for workload in dict.fromkeys(row["workload"] for row in rows)
        for name, (heading, figure) in _figures(rows, workload).items()
    ]


def _figures(rows: Rows, workload: str) -> dict[str, tuple[str, Any]]:
    found = {}
    for traded, (label, scale) in LABELS.items():
        spots = spots_of(rows, workload, traded)
        inside = {name: spot for name, spot in spots.items() if name in DIAL}
        others = {name: spot for name, spot in spots.items() if name not in DIAL}
        unit = UNITS.get(traded, 1.0)
        figure = trade_figure(inside, others, label, unit, scale)
        found[TRADED[traded].lower()] = (f"{TRADED[traded]} against energy cost", figure)
    mine = [row for row in rows if row["workload"] == workload]
    bars = total_figure(
        [row["method"] for row in mine],
        [row["energy_cost"].mean for row in mine],
        [row["tardiness_cost"].mean for row in mine],
    )
    return {**found, "total": ("total cost, mean over windows", bars)}


def _costs(rows: Rows, workload: str) -> list[list[str]]:
    heads = [head for name in HEADINGS for head in (name, "lowest", "highest")]
    table = [["policy", *heads, "unfinished"]]
    for row in rows:
        if row["workload"] == workload:
            cells = [cell for figure in SHOWN for cell in _cells(figure, row[figure])]
            table.append([row["method"], *cells, str(row["unfinished"])])
    return table


def _cells(figure: str, given: Range) -> list[str]:
    return [figure_text(value / UNITS.get(figure, 1.0)) for value in given]


def _fronts(against: Mapping[tuple[str, str], Found]) -> list[list[str]]:
    table = [["workload, by energy cost and", "dominate it", "lie outside"]]
    for (workload, traded), found in against.items():
        names = (", ".join(found.dominating) or "none", ", ".join(found.outside) or "none")
        table.append([f"{workload}, {TRADED[traded]}", *names])
    return table


def _studies(studies: Mapping[str, Any]) -> list[list[str]]:
    sharing, misled, gap = studies["sharing"], studies["misled"], studies["gap"]
    figures = {
        "finish-time fairness of tenants, mean": sharing["mean"],
        "finish-time fairness of tenants, worst": sharing["worst"],
        "share of (window, tenant) worse off than alone": sharing["share_above_1"],
        "total cost of all windows, perfect knowledge": misled["perfect"],
        "total cost of all windows, misled": misled["misled"],
        "mean gap to the bound, ANDREAS at N=20": gap["mean"],
        "largest gap": gap["worst"],
    }
    return [["figure", "value"], *([name, figure_text(v)] for name, v in figures.items())]
