"""ANDREAS (2021): energy price plus tardiness against FIFO, EDF, priorities, and fairwatt."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from lab.experiments.andreas import fairwatt
from lab.experiments.andreas.run import run_case
from lab.experiments.andreas.settings import (
    ANDREAS,
    BASELINES,
    FAIRWATT,
    INSTANCES,
    NODES,
    SEEDS,
    VARIANTS,
    Case,
)
from lab.experiments.bars import Bar, at_least, at_most, facts_of
from lab.experiments.runs import cpu_s, run_all
from simulator.progress import say, tell
from simulator.report.files import write_json
from simulator.report.page import PlottedCurve, page
from simulator.report.png import write_bars, write_plots
from simulator.report.series import PlotSeries
from simulator.report.table import aligned, figure_text

Records = dict[str, dict[str, Any]]
REDUCTION_BAR = 0.30
CALL_BAR_MS = 150.0
# Twenty minutes on two cores.
CPU_BAR_S = 2400.0
COSTS = ("total", "energy", "tardiness")


def published() -> list[Case]:
    """The paper's, large ones first, so that no core idles at the end."""
    methods = [f"{order} {variant}" for variant in VARIANTS for order in BASELINES]
    return [
        Case(nodes, instance, method, seed)
        for nodes in reversed(NODES)
        for instance in INSTANCES
        for method in ("andreas", *methods)
        for seed in (SEEDS if method == "andreas" else SEEDS[:1])
    ]


def grid() -> list[Case]:
    return [*published(), *fairwatt.grid()]


def reproduce(directory: Path, given: argparse.Namespace) -> int:
    cases = grid()
    records = run_all(
        directory,
        {case.name(): case for case in cases},
        run_case,
        processes=given.processes,
        fresh=given.fresh,
    )
    rows, compared = rows_of(records), fairwatt.rows_of(records)
    bars = [*bars_of(records), *fairwatt.bars_of(records)]
    write_json(
        directory / "results.json",
        {
            "settings": {
                "andreas": ANDREAS,
                "fairwatt": FAIRWATT,
                "nodes": NODES,
                "instances": INSTANCES,
            },
            "seeds": SEEDS,
            "cpu_s": cpu_s(records),
            "runs": [{**asdict(case), **_kept(records[case.name()])} for case in cases],
            "rows": rows,
            "fairwatt": compared,
            "bars": [bar.plain() for bar in bars],
        },
    )
    tables = [
        ("Costs in euro, means over instances", _table(rows)),
        ("fairwatt against ANDREAS, flat price and time of use", _table(compared)),
    ]
    _write_report(directory, records, rows, tables, bars)
    for _, table in tables:
        tell(aligned(table))
        tell("")
    for bar in bars:
        tell(bar.line())
    say(f"written to {directory}")
    return 0


def _kept(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "series"}


def rows_of(records: Records) -> list[dict[str, Any]]:
    """Per N and method the costs, and what ANDREAS saves, with the range over instances."""
    rows = []
    for nodes in NODES:
        ours = {name: fmean(_ours(records, nodes, i, name) for i in INSTANCES) for name in COSTS}
        call_ms = fmean(
            records[Case(nodes, i, "andreas", seed).name()]["call_ms"]
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
    return fmean(records[Case(nodes, instance, "andreas", seed).name()][figure] for seed in SEEDS)


def _theirs(records: Records, nodes: int, instance: int, method: str) -> dict[str, Any]:
    return records[Case(nodes, instance, method).name()]


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
        records[Case(NODES[-1], instance, "andreas", seed).name()]["call_ms"]
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


def _write_report(
    directory: Path,
    records: Records,
    rows: Sequence[dict[str, Any]],
    tables: Sequence[tuple[str, Sequence[Sequence[str]]]],
    bars: Sequence[Bar],
) -> None:
    shown = ("andreas", *(f"{order} exclusive" for order in BASELINES))
    largest = [Case(NODES[-1], INSTANCES[0], method) for method in shown]
    curves = [
        PlottedCurve(case.method, msgspec.convert(records[case.name()]["series"], PlotSeries))
        for case in largest
    ]
    write_plots(directory, curves)
    write_bars(
        directory / "reductions.png",
        {
            method: [100 * row["reduction"] for row in rows if row["method"] == method]
            for method in (f"{order} {variant}" for variant in VARIANTS for order in BASELINES)
        },
        [f"N={nodes}" for nodes in NODES],
        "reduction of the total cost, %",
    )
    text = page(
        title="ANDREAS: energy price plus tardiness",
        facts=facts_of(bars),
        tables=tables,
        curves=curves,
        notes=[
            "Nodes alternate TESLA with 4 GPUs and TURING with 2; ten jobs per node; mixed load. "
            "Means over three instances, ANDREAS over five seeds each; the curves show "
            f"N = {NODES[-1]}, instance {INSTANCES[0]}, seed {SEEDS[0]}."
        ],
    )
    (directory / "report.html").write_text(text)
