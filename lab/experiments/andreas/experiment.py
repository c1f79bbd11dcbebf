"""ANDREAS (2021): energy price plus tardiness against FIFO, EDF, priorities, and fairwatt."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from lab.experiments.andreas import fairwatt
from lab.experiments.andreas.plot import grouped_bars
from lab.experiments.andreas.run import run_case
from lab.experiments.andreas.settings import (
    ANDREAS,
    BASELINES,
    FAIRWATT,
    INSTANCES,
    NODES,
    SEEDS,
    VARIANTS,
    AndreasCase,
)
from lab.experiments.bars import Bar, at_least, at_most
from lab.experiments.frame import (
    Experiment,
    ExperimentFindings,
    Plot,
    Records,
    Table,
    curves_of,
    named,
    without_series,
)
from lab.experiments.runs import cpu_s
from simulator.report.figures import figure_text

REDUCTION_BAR = 0.30
CALL_BAR_MS = 150.0
# Twenty minutes on two cores.
CPU_BAR_S = 2400.0
COSTS = ("total", "energy", "tardiness")


def published() -> list[AndreasCase]:
    """The paper's, large ones first, so that no core idles at the end."""
    methods = [f"{order} {variant}" for variant in VARIANTS for order in BASELINES]
    return [
        AndreasCase(nodes, instance, method, seed)
        for nodes in reversed(NODES)
        for instance in INSTANCES
        for method in ("andreas", *methods)
        for seed in (SEEDS if method == "andreas" else SEEDS[:1])
    ]


def grid() -> list[AndreasCase]:
    return [*published(), *fairwatt.grid()]


def findings(records: Records) -> ExperimentFindings:
    rows, compared = rows_of(records), fairwatt.rows_of(records)
    return ExperimentFindings(
        results={
            "runs": [{**asdict(case), **without_series(records[case.name()])} for case in grid()],
            "rows": rows,
            "fairwatt": compared,
        },
        bars=[*bars_of(records), *fairwatt.bars_of(records)],
        tables=[
            Table("Costs in euro, means over instances", _table(rows)),
            Table("fairwatt against ANDREAS, flat price and time of use", _table(compared)),
        ],
        curves=curves_of(_plotted(records)),
        plots=[Plot("reductions", "Reduction of the total cost", _reductions(rows))],
    )


def _settings() -> dict[str, Any]:
    return {"andreas": ANDREAS, "fairwatt": FAIRWATT, "nodes": NODES, "instances": INSTANCES}


def rows_of(records: Records) -> list[dict[str, Any]]:
    """Per N and method the costs, and what ANDREAS saves, with the range over instances."""
    rows = []
    for nodes in NODES:
        ours = {name: fmean(_ours(records, nodes, i, name) for i in INSTANCES) for name in COSTS}
        call_ms = fmean(
            records[AndreasCase(nodes, i, "andreas", seed).name()]["call_ms"]
            for i in INSTANCES
            for seed in SEEDS
        )
        rows.append({"nodes": nodes, "method": "andreas", **ours, "call_ms": call_ms})
        for variant in VARIANTS:
            for order in BASELINES:
                method = f"{order} {variant}"
                theirs = {
                    name: fmean(_theirs(records, nodes, i, method)[name] for i in INSTANCES)
                    for name in COSTS
                }
                saved = [reduction(records, nodes, i, method) for i in INSTANCES]
                rows.append(
                    {
                        "nodes": nodes,
                        "method": method,
                        **theirs,
                        "call_ms": fmean(
                            _theirs(records, nodes, i, method)["call_ms"] for i in INSTANCES
                        ),
                        "reduction": fmean(saved),
                        "reduction_low": min(saved),
                        "reduction_high": max(saved),
                    }
                )
    return rows


def _ours(records: Records, nodes: int, instance: int, figure: str) -> float:
    """The mean over the algorithm's seeds."""
    return fmean(
        records[AndreasCase(nodes, instance, "andreas", seed).name()][figure] for seed in SEEDS
    )


def _theirs(records: Records, nodes: int, instance: int, method: str) -> Mapping[str, Any]:
    return records[AndreasCase(nodes, instance, method).name()]


def reduction(records: Records, nodes: int, instance: int, method: str) -> float:
    theirs = float(_theirs(records, nodes, instance, method)["total"])
    return (theirs - _ours(records, nodes, instance, "total")) / theirs


def bars_of(records: Records) -> list[Bar]:
    bars = [
        at_least(
            f"mean reduction of the total cost against {order.upper()}, exclusive",
            fmean(
                reduction(records, nodes, instance, f"{order} exclusive")
                for nodes in NODES
                for instance in INSTANCES
            ),
            REDUCTION_BAR,
        )
        for order in BASELINES
    ]
    calls = [
        records[AndreasCase(NODES[-1], instance, "andreas", seed).name()]["call_ms"]
        for instance in INSTANCES
        for seed in SEEDS
    ]
    theirs = {case.name(): records[case.name()] for case in published()}
    return [
        *bars,
        at_most(f"ms per scheduling call at {NODES[-1]} nodes", fmean(calls), CALL_BAR_MS),
        at_most("CPU seconds of the published experiment", cpu_s(theirs), CPU_BAR_S),
    ]


def _table(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    table = [["N, method", *COSTS, "reduction %", "lowest", "highest", "ms per call"]]
    for row in rows:
        saved = ("reduction", "reduction_low", "reduction_high")
        table.append(
            [
                f"{row['nodes']} {row['method']}",
                *(figure_text(row[name]) for name in COSTS),
                *(figure_text(100 * row[name]) if name in row else "-" for name in saved),
                figure_text(row["call_ms"]),
            ]
        )
    return table


def _plotted(records: Records) -> dict[str, Mapping[str, Any]]:
    """Records of the largest size by their method."""
    shown = ("andreas", *(f"{order} exclusive" for order in BASELINES))
    return {
        method: records[AndreasCase(NODES[-1], INSTANCES[0], method).name()] for method in shown
    }


def _reductions(rows: Sequence[Mapping[str, Any]]) -> Figure:
    methods = [f"{order} {variant}" for variant in VARIANTS for order in BASELINES]
    return grouped_bars(
        {
            method: [100 * row["reduction"] for row in rows if row["method"] == method]
            for method in methods
        },
        [f"N={nodes}" for nodes in NODES],
        "reduction of the total cost, %",
    )


EXPERIMENT = Experiment(
    title="ANDREAS: energy price plus tardiness",
    notes=[
        "Nodes alternate TESLA with 4 GPUs and TURING with 2; ten jobs per node; mixed load. "
        "Means over three instances, ANDREAS over five seeds each; the curves show "
        f"N = {NODES[-1]}, instance {INSTANCES[0]}, seed {SEEDS[0]}."
    ],
    settings=_settings,
    seeds=SEEDS,
    cases=lambda: named(grid()),
    run=run_case,
    findings=findings,
)
