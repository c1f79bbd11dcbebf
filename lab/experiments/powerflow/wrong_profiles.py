"""What wrong profiles cost: completion times with profiles that are off by a quarter, over true."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lab.experiments.bars import Bar, at_most
from lab.experiments.frame import Experiment, ExperimentFindings, Records, Table, named
from lab.experiments.powerflow import settings
from lab.experiments.powerflow.settings import COSTS, PACE
from policies.contract.snapshot import ProfileTable
from policies.registry import build
from simulator.engine import Engine
from simulator.measure import measure
from simulator.report.figures import figure_text
from simulator.setting import Setting

WINDOWS = settings.WINDOWS[::2]
SIGMA = 0.25
DRAWS = (0, 1)
TRUE = -1
"""The draw that is none: policies know the profiles."""
BAR = 1.5
CAPPED = "powerflow at 0.6 of the most watts"
HOUR_S = 3600.0


def _run_of(method: str, window: int) -> settings.PowerflowCase:
    """The same method in the experiment beside; only the capped one has a power budget."""
    return {
        "powerflow": settings.PowerflowCase(window),
        CAPPED: settings.PowerflowCase(window, eta=0.6),
        "afs": settings.PowerflowCase(window, baseline="AFS-style"),
        "fairwatt": settings.PowerflowCase(window, wait_price_per_h=1.0),
        "fifo": settings.PowerflowCase(window, baseline="FIFO"),
    }[method]


METHODS = ("powerflow", CAPPED, "afs", "fairwatt", "fifo")
HELD_TO_THE_BAR = ("powerflow", CAPPED)


@dataclass(frozen=True, slots=True)
class WrongProfilesCase:
    method: str
    window: int
    draw: int = TRUE

    def name(self) -> str:
        knows = "true profiles" if self.draw == TRUE else f"wrong profiles {self.draw}"
        return f"{self.method}, {knows} (window {self.window})"


def grid() -> list[WrongProfilesCase]:
    return [
        WrongProfilesCase(method, window, draw)
        for method in METHODS
        for window in WINDOWS
        for draw in (TRUE, *DRAWS)
    ]


def setting_of(case: WrongProfilesCase) -> Setting:
    setting = settings.setting_of(_run_of(case.method, case.window))
    if case.draw == TRUE:
        return setting
    believed = wrong(setting.profiles, np.random.default_rng([case.window, case.draw, 25]))
    return replace(setting, believed_profiles=believed)


def wrong(table: ProfileTable, random: np.random.Generator) -> ProfileTable:
    """Every point's speed and watts, each off by a factor of its own."""
    shape = table.throughput.shape
    return replace(
        table,
        throughput=table.throughput * random.lognormal(0.0, SIGMA, shape),
        watts_per_gpu=table.watts_per_gpu * random.lognormal(0.0, SIGMA, shape),
    )


def run_case(case: WrongProfilesCase) -> dict[str, Any]:
    name, parameters = _run_of(case.method, case.window).policy()
    outcome = Engine(setting_of(case), build(name, parameters), PACE).run()
    return {"summary": measure(outcome).summary}


def findings(records: Records) -> ExperimentFindings:
    costs = [_cost(records, method) for method in METHODS]
    return ExperimentFindings(
        results={
            "rows": [{**asdict(case), **records[case.name()]} for case in grid()],
            "costs": costs,
        },
        bars=[bar_of(cost) for cost in costs if cost["method"] in HELD_TO_THE_BAR],
        tables=[Table("Mean completion times over windows and draws", _table(costs))],
        summaries=[(asdict(case), records[case.name()]["summary"]) for case in grid()],
    )


def bar_of(cost: dict[str, Any]) -> Bar:
    return at_most(f"mean JCT of {cost['method']}, wrong over true", cost["ratio"], BAR)


def _cost(records: Records, method: str) -> dict[str, Any]:
    """Means over the windows, and over the draws where there are any; ratios by window."""
    true_s = [_mean_s(records, method, window, [TRUE]) for window in WINDOWS]
    wrong_s = [_mean_s(records, method, window, DRAWS) for window in WINDOWS]
    return {
        "method": method,
        "true_s": float(np.mean(true_s)),
        "wrong_s": float(np.mean(wrong_s)),
        "ratio": float(np.mean(wrong_s) / np.mean(true_s)),
        "by_window": [after / before for after, before in zip(wrong_s, true_s, strict=True)],
    }


def _mean_s(records: Records, method: str, window: int, draws: Sequence[int]) -> float:
    found = [
        records[WrongProfilesCase(method, window, draw).name()]["summary"]["jct_mean_s"]
        for draw in draws
    ]
    return float(np.mean(found))


def _table(costs: Sequence[dict[str, Any]]) -> list[list[str]]:
    rows = [["method", "true h", "wrong h", "ratio", *(f"window {w}" for w in WINDOWS)]]
    for cost in costs:
        hours = (cost["true_s"] / HOUR_S, cost["wrong_s"] / HOUR_S)
        cells = [*hours, cost["ratio"], *cost["by_window"]]
        rows.append([cost["method"], *map(figure_text, cells)])
    return rows


def _settings() -> dict[str, Any]:
    return {
        "costs": asdict(COSTS),
        "pace": asdict(PACE),
        "sigma": SIGMA,
        "draws": DRAWS,
        "methods": {method: _run_of(method, WINDOWS[0]).policy() for method in METHODS},
        "capped_w": _run_of(CAPPED, WINDOWS[0]).power_budget_w,
    }


EXPERIMENT = Experiment(
    title="Wrong profiles: what they cost in completion times",
    notes=[
        "The worlds of `powerflow`: 16 nodes of 8 A100, three windows of two weeks of Philly.",
        f"Wrong: speed and watts of every point times a lognormal factor of sigma {SIGMA:g}.",
    ],
    settings=_settings,
    seeds={"windows": WINDOWS, "draws": DRAWS},
    cases=lambda: named(grid()),
    run=run_case,
    findings=findings,
)
