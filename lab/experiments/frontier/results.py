"""From the records of the frontier to its rows, its two studies of fairwatt, and its bars."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from lab.experiments.bars import Bar, at_most
from lab.experiments.frame import Records
from lab.experiments.frontier.front import Found, Spot, found
from lab.experiments.frontier.gap import GapCase
from lab.experiments.frontier.settings import DEFAULT_DIAL, DIAL, OTHERS, FrontierCase, WorkloadName
from lab.experiments.frontier.world import TENANTS

SHOWN = ("energy_cost", "jct_mean_s", "tardiness_cost", "total_cost")
TRADED = {"jct_mean_s": "JCT", "tardiness_cost": "tardiness"}
MISLED_BAR = 1.10
GAP_BAR = 0.10
STUDIED: WorkloadName = "philly"
"""Where fairwatt is studied alone."""


class Grid(NamedTuple):
    """What is run of the experiment: all of it, but for tests."""

    windows: Mapping[WorkloadName, Sequence[int]]
    gaps: Sequence[GapCase]

    @property
    def workloads(self) -> tuple[WorkloadName, ...]:
        return tuple(self.windows)

    def cases(self) -> list[FrontierCase | GapCase]:
        compared = [
            FrontierCase(workload, window, method)
            for workload in self.workloads
            for window in self.windows[workload]
            for method in (*OTHERS, *DIAL)
        ]
        alone = [
            FrontierCase(STUDIED, window, DEFAULT_DIAL, tenant=tenant)
            for window in self.windows[STUDIED]
            for tenant in range(TENANTS)
        ]
        misled = [
            FrontierCase(STUDIED, window, DEFAULT_DIAL, misled=True)
            for window in self.windows[STUDIED]
        ]
        return [*compared, *alone, *misled, *self.gaps]


class Range(NamedTuple):
    """Over windows."""

    mean: float
    low: float
    high: float


def range_of(values: Sequence[float]) -> Range:
    return Range(fmean(values), min(values), max(values))


def rows_of(records: Records, grid: Grid) -> list[dict[str, Any]]:
    return [
        {
            "workload": workload,
            "method": method,
            **{f: range_of(_figures(records, grid, workload, method, f)) for f in SHOWN},
            "unfinished": sum(_unfinished(records, grid, workload, method)),
        }
        for workload in grid.workloads
        for method in (*OTHERS, *DIAL)
    ]


def spots_of(rows: Sequence[Mapping[str, Any]], workload: str, traded: str) -> dict[str, Spot]:
    """Every method's mean energy cost and what it is traded for."""
    return {
        row["method"]: Spot(row["energy_cost"].mean, row[traded].mean)
        for row in rows
        if row["workload"] == workload
    }


def found_in(rows: Sequence[Mapping[str, Any]], workload: str, traded: str) -> Found:
    spots = spots_of(rows, workload, traded)
    return found({name: spots[name] for name in OTHERS}, [spots[name] for name in DIAL])


def sharing_of(records: Records, grid: Grid) -> dict[str, Any]:
    """Mean JCT of every tenant over that on a share of its own; of tenants with jobs."""
    ratios = {}
    for window in grid.windows[STUDIED]:
        shared = records[FrontierCase(STUDIED, window, DEFAULT_DIAL).name()]["tenant_jct_s"]
        for tenant, jct_s in enumerate(shared):
            alone = records[FrontierCase(STUDIED, window, DEFAULT_DIAL, tenant=tenant).name()]
            if jct_s is not None:
                ratios[f"window {window}, tenant {tenant}"] = jct_s / alone["jct_mean_s"]
    values = list(ratios.values())
    return {
        "mean": fmean(values),
        "worst": max(values),
        "share_above_1": fmean(value > 1 for value in values),
        "ratios": ratios,
    }


def misled_of(records: Records, grid: Grid) -> dict[str, float]:
    totals = {
        misled: sum(
            records[FrontierCase(STUDIED, window, DEFAULT_DIAL, misled=misled).name()]["total_cost"]
            for window in grid.windows[STUDIED]
        )
        for misled in (False, True)
    }
    return {"perfect": totals[False], "misled": totals[True], "ratio": totals[True] / totals[False]}


def gap_of(records: Records, grid: Grid) -> dict[str, Any]:
    by_run = {case.name(): records[case.name()]["gaps"] for case in grid.gaps}
    gaps = [gap for run in by_run.values() for gap in run]
    return {"mean": fmean(gaps), "worst": max(gaps), "rounds": len(gaps), "by_run": by_run}


def bars_of(
    dominating: Mapping[str, int], misled: Mapping[str, float], gap: Mapping[str, Any]
) -> list[Bar]:
    return [
        *(
            at_most(f"policies that dominate fairwatt by energy cost and {what}", count, 0)
            for what, count in dominating.items()
        ),
        at_most("total cost when misled over perfect knowledge", misled["ratio"], MISLED_BAR),
        at_most("mean gap to the bound in ANDREAS' experiment at N=20", gap["mean"], GAP_BAR),
    ]


def _figures(
    records: Records, grid: Grid, workload: WorkloadName, method: str, figure: str
) -> list[float]:
    return [
        float(records[FrontierCase(workload, w, method).name()][figure])
        for w in grid.windows[workload]
    ]


def _unfinished(records: Records, grid: Grid, workload: WorkloadName, method: str) -> list[int]:
    runs = [records[FrontierCase(workload, w, method).name()] for w in grid.windows[workload]]
    return [run["jobs"] - run["finished"] for run in runs]
