"""PowerFlow-style: JCT at equal energy against Gandiva, Tiresias, AFS, FIFO and fairwatt."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lab.experiments.bars import Bar, at_least
from lab.experiments.frame import Experiment, ExperimentFindings, Plot, Records, Table, named
from lab.experiments.powerflow import fairwatt
from lab.experiments.powerflow.curve import CurvePoint, Spread, front, ratio, spread
from lab.experiments.powerflow.plot import curve_figure
from lab.experiments.powerflow.settings import (
    ABLATION_ETAS,
    ABLATIONS,
    BASELINES,
    COSTS,
    ETAS,
    PACE,
    WAIT_PRICES_PER_H,
    WINDOWS,
    Ablation,
    PowerflowCase,
    most_w,
    setting_of,
    workload,
)
from lab.experiments.published import build_published
from simulator.engine import Engine
from simulator.measure import measure
from simulator.report.figures import figure_text

BEST_BAR, WORST_BAR = 3.39, 1.57


def grid() -> list[PowerflowCase]:
    sweep = [PowerflowCase(window, eta=eta) for window in WINDOWS for eta in ETAS]
    baselines = [PowerflowCase(window, baseline=name) for window in WINDOWS for name in BASELINES]
    ablations = [
        PowerflowCase(window, eta=eta, ablation=ablation)
        for window in WINDOWS
        for ablation in ABLATIONS
        for eta in ABLATION_ETAS
    ]
    dial = [
        PowerflowCase(window, wait_price_per_h=price)
        for window in WINDOWS
        for price in WAIT_PRICES_PER_H
    ]
    return [*sweep, *baselines, *ablations, *dial]


def run_case(case: PowerflowCase) -> dict[str, Any]:
    """The record of a run, as it is stored."""
    name, parameters = case.policy()
    outcome = Engine(setting_of(case), build_published(name, parameters), PACE).run()
    measured = measure(outcome)
    joules, edges_s = measured.drawn.watts, measured.drawn.edges_s
    return {
        "summary": measured.summary,
        "peak_w": float(joules.max(initial=0.0)) if len(edges_s) > 1 else 0.0,
    }


def findings(records: Records) -> ExperimentFindings:
    cases, ratios, changes = grid(), ratios_of(records), ablations_of(records)
    spreads = {name: spread(list(by.values())) for name, by in ratios.items()}
    ours, theirs = dials_of(records), {w: curve_of(records, w) for w in WINDOWS}
    return ExperimentFindings(
        results={
            "rows": [{**asdict(case), "run": case.name(), **_row(records, case)} for case in cases],
            "fronts": {window: front(points) for window, points in theirs.items()},
            "ratios": [
                {"baseline": name, "by_window": by, **spreads[name]._asdict()}
                for name, by in ratios.items()
            ],
            "ablations": changes,
            "fairwatt": fairwatt.results_of(ours, theirs),
        },
        bars=[*bars_of(spreads), fairwatt.bar_of(ours, theirs)],
        tables=[
            Table(
                "JCT of a baseline over PowerFlow-style at its energy",
                _ratio_table(ratios, spreads),
            ),
            Table(
                "fairwatt at equal energy",
                fairwatt.table_of(ours, theirs, ETAS, WAIT_PRICES_PER_H),
            ),
            Table(
                "Ablations: factor to the whole policy at the same eta", _ablation_table(changes)
            ),
            Table("Runs", _runs_table(cases, records), printed=False),
        ],
        summaries=[(asdict(case), records[case.name()]["summary"]) for case in cases],
        plots=[_plot(records, window) for window in WINDOWS],
    )


def _settings() -> dict[str, Any]:
    return {
        "costs": asdict(COSTS),
        "pace": asdict(PACE),
        "most_w": most_w(),
        "jobs": {window: len(workload(window)) for window in WINDOWS},
    }


def point_of(records: Records, case: PowerflowCase) -> CurvePoint:
    summary = records[case.name()]["summary"]
    return CurvePoint(float(summary["energy_kwh"]), float(summary["jct_mean_s"]))


def curve_of(records: Records, window: int) -> list[CurvePoint]:
    return [point_of(records, PowerflowCase(window, eta=eta)) for eta in ETAS]


def dials_of(records: Records) -> dict[int, list[CurvePoint]]:
    """fairwatt's points, by window."""
    return {
        window: [
            point_of(records, PowerflowCase(window, wait_price_per_h=p)) for p in WAIT_PRICES_PER_H
        ]
        for window in WINDOWS
    }


def ratios_of(records: Records) -> dict[str, dict[int, float]]:
    """By baseline and window."""
    return {
        name: {
            window: ratio(
                curve_of(records, window), point_of(records, PowerflowCase(window, baseline=name))
            )
            for window in WINDOWS
        }
        for name in BASELINES
    }


def bars_of(spreads: Mapping[str, Spread]) -> list[Bar]:
    largest = [found.high for found in spreads.values() if found.known]
    best, worst = max(largest, default=0.0), min(largest, default=0.0)
    return [
        at_least("the best baseline's largest JCT ratio at equal energy", best, BEST_BAR),
        at_least("the worst baseline's largest JCT ratio at equal energy", worst, WORST_BAR),
    ]


def ablations_of(records: Records) -> list[dict[str, Any]]:
    """What each part is worth: JCT and energy without it, over those with it, window by window."""
    changes = []
    for ablation in ABLATIONS:
        for eta in ABLATION_ETAS:
            jct, energy = _without(records, ablation, eta)
            changes.append(
                {
                    "ablation": ablation,
                    "eta": eta,
                    "jct": spread(jct)._asdict(),
                    "energy": spread(energy)._asdict(),
                }
            )
    return changes


def _without(records: Records, ablation: Ablation, eta: float) -> tuple[list[float], list[float]]:
    pairs = [
        (
            point_of(records, PowerflowCase(window, eta=eta, ablation=ablation)),
            point_of(records, PowerflowCase(window, eta=eta)),
        )
        for window in WINDOWS
    ]
    return (
        [without.jct_s / whole.jct_s for without, whole in pairs],
        [without.energy_kwh / whole.energy_kwh for without, whole in pairs],
    )


def _row(records: Records, case: PowerflowCase) -> dict[str, Any]:
    record = records[case.name()]
    return {**record["summary"], "peak_w": record["peak_w"], "cpu_s": record["cpu_s"]}


def _ratio_table(
    ratios: Mapping[str, Mapping[int, float]], spreads: Mapping[str, Spread]
) -> list[list[str]]:
    rows = [["baseline", "min", "median", "max", *(f"window {w}" for w in WINDOWS)]]
    for name, by in ratios.items():
        low, median, high, _ = spreads[name]
        cells = [low, median, high, *(by[window] for window in WINDOWS)]
        rows.append([name, *map(figure_text, cells)])
    return rows


def _ablation_table(changes: Sequence[dict[str, Any]]) -> list[list[str]]:
    rows = [["without", "eta", "JCT min", "median", "max", "energy min", "median", "max"]]
    for change in changes:
        cells = [
            figure_text(change[figure][at])
            for figure in ("jct", "energy")
            for at in ("low", "median", "high")
        ]
        rows.append([change["ablation"], figure_text(change["eta"]), *cells])
    return rows


def _runs_table(cases: Sequence[PowerflowCase], records: Records) -> list[list[str]]:
    figures = (
        ("JCT mean h", "jct_mean_s", 3600.0),
        ("p99 h", "jct_p99_s", 3600.0),
        ("MWh", "energy_kwh", 1000.0),
        ("peak kW", "peak_w", 1000.0),
        ("days", "makespan_s", 86_400.0),
        ("allocated", "gpu_allocation", 1.0),
        ("preempted", "preemptions", 1.0),
        ("moved", "migrations", 1.0),
    )
    rows = [["run", *(heading for heading, _, _ in figures)]]
    for case in cases:
        found = _row(records, case)
        cells = [figure_text(float(found[name]) / unit) for _, name, unit in figures]
        rows.append([case.name(), *cells])
    return rows


def _plot(records: Records, window: int) -> Plot:
    beside = {name: point_of(records, PowerflowCase(window, baseline=name)) for name in BASELINES}
    swept = {"PowerFlow-style": curve_of(records, window), "fairwatt": dials_of(records)[window]}
    return Plot(
        f"curve_window_{window}",
        f"Energy against mean completion time, window {window}",
        curve_figure(swept, beside),
    )


EXPERIMENT = Experiment(
    title="PowerFlow-style: completion times at equal energy",
    notes=["16 nodes of 8 A100; Philly's busiest virtual cluster, five windows of two weeks."],
    settings=_settings,
    seeds=WINDOWS,
    cases=lambda: named(grid()),
    run=run_case,
    findings=findings,
)
