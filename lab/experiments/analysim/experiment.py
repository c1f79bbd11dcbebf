"""AnalySIM (ICDE 2021): what preemption and migration do for completion times and fragmentation."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lab.experiments.analysim.grid import BAR_LOAD, SEEDS, grid, run_case
from lab.experiments.analysim.settings import COSTS, PACE, AnalysimCase, Policy
from lab.experiments.bars import Bar
from lab.experiments.frame import Experiment, ExperimentFindings, Records, Table, curves_of, named
from simulator.metrics.intervals import Interval, interval
from simulator.report.figures import figure_text

DISTINCT: tuple[Policy, ...] = ("fifo", "srtf", "las")
"""SJF and SRTF are one policy with preemption, and one without."""

_HEADINGS = (
    "case", "JCT mean h", "median h", "p99 h", "wait mean h", "gangs of 8+ wait h", "utilised",
    "fragmented", "useless GPUs", "preempted", "moved", "lost GPU h",
)  # fmt: skip


def cases() -> dict[str, AnalysimCase]:
    """Equal rules are run once."""
    return named([case.settled() for case in grid()])


def findings(records: Records) -> ExperimentFindings:
    grid_cases, effects = grid(), effects_of(records)
    rows = [
        {**asdict(case), "run": case.settled().name(), **_kept(records, case)}
        for case in grid_cases
    ]
    shown = [
        case
        for case in grid_cases
        if case.seed == SEEDS[0] and (case.cluster == "B" or case.load == BAR_LOAD)
    ]
    return ExperimentFindings(
        results={"rows": rows, "effects": effects},
        bars=bars_of(records),
        tables=[
            Table("What the switches do", _effects_table(effects)),
            Table("Load 1.0, and openb", [_HEADINGS, *(_row(case, records) for case in shown)]),
        ],
        summaries=[
            (asdict(case), records[case.settled().name()]["summary"]) for case in grid_cases
        ],
        curves=curves_of(_plotted(records)),
    )


def _settings() -> dict[str, Any]:
    return {"costs": asdict(COSTS), "pace": asdict(PACE)}


def _kept(records: Records, case: AnalysimCase) -> dict[str, Any]:
    record = records[case.settled().name()]
    return {
        **record["summary"],
        "large_wait_s": record["large_wait_s"],
        "partitions": record["partitions"],
    }


def _figure(records: Records, case: AnalysimCase, figure: str) -> float:
    value = _kept(records, case)[figure]
    return math.nan if value is None else float(value)


def _bar_case(policy: Policy, seed: int, *, preemption: bool, migration: bool) -> AnalysimCase:
    return AnalysimCase("A", policy, "consolidate", preemption, migration, "static", BAR_LOAD, seed)


def bars_of(records: Records) -> list[Bar]:
    """Paired by seed, averaged over policies: what a switch saves, as a share of going without."""

    def saved(figure: str, pairs: Sequence[tuple[AnalysimCase, AnalysimCase]]) -> float:
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


def _row(case: AnalysimCase, records: Records) -> list[str]:
    hours, one = 3600.0, 1.0
    units = (
        ("jct_mean_s", hours), ("jct_median_s", hours), ("jct_p99_s", hours),
        ("wait_mean_s", hours), ("large_wait_s", hours), ("gpu_utilisation", one),
        ("fragmentation", one), ("useless_free_gpus", one), ("preemptions", one),
        ("migrations", one), ("lost_gpu_hours", one),
    )  # fmt: skip
    figures = [figure_text(_figure(records, case, name) / unit) for name, unit in units]
    return [case.name(), *figures]


def _plotted(records: Records) -> dict[str, Mapping[str, Any]]:
    """Records by the label of their curve."""
    found: dict[str, Mapping[str, Any]] = {}
    for policy in DISTINCT:
        for preempt, move in ((False, False), (True, False), (True, True)):
            case = _bar_case(policy, SEEDS[0], preemption=preempt, migration=move).settled()
            found[case.name().split(" (")[0]] = records[case.name()]
    return found


EXPERIMENT = Experiment(
    title="AnalySIM: preemption and migration",
    notes=["Cluster A: Philly, 28 days, 1,024 GPUs. Cluster B: openb, 6,212 GPUs."],
    settings=_settings,
    seeds=SEEDS,
    cases=cases,
    run=run_case,
    findings=findings,
)
