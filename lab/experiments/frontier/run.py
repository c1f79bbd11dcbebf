"""One run of the frontier, and what is kept of it."""

from typing import Any

from lab.experiments.frontier.gap import GapCase
from lab.experiments.frontier.settings import METHODS, FrontierCase, setting_of
from lab.experiments.powerflow.settings import PACE
from policies.registry import build
from simulator.engine import Engine
from simulator.measure import measure

FIGURES = (
    "jobs", "finished", "energy_cost", "jct_mean_s", "jct_p99_s", "tardiness_cost",
    "deadline_misses", "energy_kwh", "carbon_kg", "makespan_s", "rounds", "preemptions",
    "migrations",
)  # fmt: skip


def run_any(case: FrontierCase | GapCase) -> dict[str, Any]:
    return case.run() if isinstance(case, GapCase) else run_case(case)


def run_case(case: FrontierCase) -> dict[str, Any]:
    method = METHODS[case.method]
    outcome = Engine(setting_of(case), build(method.policy, method.parameters), PACE).run()
    measured = measure(outcome)
    summary = measured.summary
    return {
        **{figure: summary[figure] for figure in FIGURES},
        "total_cost": summary["energy_cost"] + summary["tardiness_cost"],
        "tenant_jct_s": [tenant["jct_mean_s"] for tenant in measured.tenants.values()],
    }
