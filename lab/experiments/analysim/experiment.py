"""AnalySIM (ICDE 2021): what preemption and migration do for completion times and fragmentation."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from lab.experiments.analysim.grid import BAR_LOAD, SEEDS, grid, run_case
from lab.experiments.analysim.settings import COSTS, PACE, Case, Policy
from lab.experiments.bars import Bar, facts_of
from lab.experiments.runs import cpu_s, run_all
from simulator.metrics.intervals import Interval, interval
from simulator.progress import say, tell
from simulator.report.files import write_json, write_summaries
from simulator.report.page import PlottedCurve, page
from simulator.report.png import write_plots
from simulator.report.series import PlotSeries
from simulator.report.table import aligned, figure_text

Records = dict[str, dict[str, Any]]
DISTINCT: tuple[Policy, ...] = ("fifo", "srtf", "las")
"""SJF and SRTF are one policy with preemption, and one without."""

_HEADINGS = (
    "case", "JCT mean h", "median h", "p99 h", "wait mean h", "gangs of 8+ wait h", "utilised",
    "fragmented", "useless GPUs", "preempted", "moved", "lost GPU h",
)  # fmt: skip


def reproduce(directory: Path, given: argparse.Namespace) -> int:
    cases = grid()
    runs = {case.settled().name(): case.settled() for case in cases}
    records = run_all(directory, runs, run_case, processes=given.processes, fresh=given.fresh)
    bars, effects = bars_of(records), effects_of(records)
    shown = [case for case in cases if case.seed == SEEDS[0]]
    write_json(
        directory / "results.json",
        {
            "settings": {"costs": asdict(COSTS), "pace": asdict(PACE)},
            "seeds": SEEDS,
            "cpu_s": cpu_s(records),
            "rows": [
                {**asdict(case), "run": case.settled().name(), **_kept(records, case)}
                for case in cases
            ],
            "effects": effects,
            "bars": [bar.plain() for bar in bars],
        },
    )
    write_summaries(
        directory / "summary.csv",
        [(asdict(case), records[case.settled().name()]["summary"]) for case in cases],
    )
    main = [c for c in shown if c.cluster == "B" or c.load == BAR_LOAD]
    table = [list(_HEADINGS), *(_row(case, records) for case in main)]
    _write_report(directory, records, table, bars, effects)
    tell(aligned(table))
    tell("")
    tell(aligned(_effects_table(effects)))
    for bar in bars:
        tell(bar.line())
    say(f"written to {directory}")
    return 0


def _kept(records: Records, case: Case) -> dict[str, Any]:
    record = records[case.settled().name()]
    return {
        **record["summary"],
        "large_wait_s": record["large_wait_s"],
        "partitions": record["partitions"],
    }


def _figure(records: Records, case: Case, figure: str) -> float:
    value = _kept(records, case)[figure]
    return math.nan if value is None else float(value)


def _bar_case(policy: Policy, seed: int, *, preemption: bool, migration: bool) -> Case:
    return Case("A", policy, "consolidate", preemption, migration, "static", BAR_LOAD, seed)


def bars_of(records: Records) -> list[Bar]:
    """Paired by seed, averaged over policies: what a switch saves, as a share of going without."""

    def saved(figure: str, pairs: Sequence[tuple[Case, Case]]) -> float:
        without = sum(_figure(records, one, figure) for one, _ in pairs)
        having = sum(_figure(records, other, figure) for _, other in pairs)
        return (without - having) / without

    def preemption(seed: int) -> float:
        cases = [
            (
                _bar_case(policy, seed, preemption=False, migration=False),
                _bar_case(policy, seed, preemption=True, migration=False),
            )
            for policy in DISTINCT
        ]
        return saved("jct_mean_s", cases)

    def migration(seed: int, figure: str = "fragmentation") -> float:
        cases = [
            (
                _bar_case(policy, seed, preemption=preempt, migration=False),
                _bar_case(policy, seed, preemption=preempt, migration=True),
            )
            for policy in DISTINCT
            for preempt in (False, True)
        ]
        return saved(figure, cases)

    return [
        _bar("preemption cuts mean JCT at load 1.0, by the share", preemption),
        _bar("migration cuts fragmentation, by the share", migration),
        _bar(
            "migration cuts the free GPUs of no use to the queue, by the share",
            lambda seed: migration(seed, "useless_free_gpus"),
        ),
    ]


def _bar(name: str, by_seed: Callable[[int], float]) -> Bar:
    value = interval([by_seed(seed) for seed in SEEDS])
    return Bar(name, "above 0 with its 95 % interval over seeds", value, value.low > 0)


def effects_of(records: Records) -> list[dict[str, Any]]:
    """What each switch does to each policy: the factor without to with, over seeds."""
    effects = []
    figures = ("jct_mean_s", "wait_mean_s", "large_wait_s", "fragmentation", "useless_free_gpus")
    for switch in ("preemption", "migration"):
        for policy in DISTINCT:
            for other in (False, True):
                effect: dict[str, Any] = {"switch": switch, "policy": policy, "other": other}
                for figure in figures:
                    factors = []
                    for seed in SEEDS:
                        off, on = (
                            _bar_case(
                                policy,
                                seed,
                                preemption=state if switch == "preemption" else other,
                                migration=state if switch == "migration" else other,
                            )
                            for state in (False, True)
                        )
                        before, after = (_figure(records, c, figure) for c in (off, on))
                        factors.append(before / after if after else math.nan)
                    effect[figure] = interval(factors)._asdict()
                effects.append(effect)
    return effects


def _effects_table(effects: Sequence[dict[str, Any]]) -> list[list[str]]:
    figures = ("jct_mean_s", "wait_mean_s", "large_wait_s", "fragmentation", "useless_free_gpus")
    rows = [["factor, without to with", *figures]]
    for effect in effects:
        other = "migration" if effect["switch"] == "preemption" else "preemption"
        beside = f"with {other}" if effect["other"] else f"no {other}"
        texts = []
        for figure in figures:
            found = Interval(**effect[figure])
            low, high = figure_text(found.low), figure_text(found.high)
            texts.append(f"{figure_text(found.mean)} [{low}, {high}]")
        rows.append([f"{effect['switch']}, {effect['policy'].upper()}, {beside}", *texts])
    return rows


def _row(case: Case, records: Records) -> list[str]:
    hours, one = 3600.0, 1.0
    units = (
        ("jct_mean_s", hours), ("jct_median_s", hours), ("jct_p99_s", hours),
        ("wait_mean_s", hours), ("large_wait_s", hours), ("gpu_utilisation", one),
        ("fragmentation", one), ("useless_free_gpus", one), ("preemptions", one),
        ("migrations", one), ("lost_gpu_hours", one),
    )  # fmt: skip
    figures = [figure_text(_figure(records, case, name) / unit) for name, unit in units]
    return [case.name(), *figures]


def _write_report(
    directory: Path,
    records: Records,
    table: list[list[str]],
    bars: Sequence[Bar],
    effects: Sequence[dict[str, Any]],
) -> None:
    curves = []
    for policy in DISTINCT:
        for preempt, move in ((False, False), (True, False), (True, True)):
            case = _bar_case(policy, SEEDS[0], preemption=preempt, migration=move).settled()
            series = msgspec.convert(records[case.name()]["series"], PlotSeries)
            curves.append(PlottedCurve(case.name().split(" (")[0], series))
    write_plots(directory, curves)
    text = page(
        title="AnalySIM: preemption and migration",
        facts=facts_of(bars),
        tables=[("What the switches do", _effects_table(effects)), ("Load 1.0, and openb", table)],
        curves=curves,
        notes=["Cluster A: Philly, 28 days, 1,024 GPUs. Cluster B: openb, 6,212 GPUs."],
    )
    (directory / "report.html").write_text(text)
