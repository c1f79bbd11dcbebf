"""What one scheduling call of ANDREAS costs, alone and within its published experiment."""

from dataclasses import replace
from functools import partial
from time import process_time

from lab.benchmarks.figures import figure
from lab.benchmarks.plans.measure import Parameters, figures_of_plan
from lab.benchmarks.plans.snapshots import SNAPSHOTS
from lab.experiments.andreas.settings import ANDREAS, PACE, AndreasCase, setting_of
from policies.registry import build
from simulator.engine import Engine

CALL_BAR_MS = 150.0
# Two cores for twenty minutes, shared by the experiment's calls at 100 nodes and all smaller ones.
EXPERIMENT_BAR_MS = 40.0
EXPERIMENT_NODES, EXPERIMENT_S = 100, 20_000.0
OPTIONS: list[tuple[str, Parameters, float | None]] = [
    ("1000 constructions", {}, CALL_BAR_MS),
    ("100 constructions", {"iterations": 100}, None),
    ("1000, path relinking", {"path_relinking": 8}, None),
    ("1000, local search", {"local_search": 10}, None),
]


def main() -> None:
    for case, made in SNAPSHOTS["andreas"].items():
        snapshot = made()
        for label, given, bar_ms in OPTIONS:
            policy = build("andreas", {**ANDREAS, **given})
            policy.plan(snapshot)
            call = partial(policy.plan, snapshot)
            figures_of_plan(
                "andreas", f"{case}/{label}", call, wall_bar_ms=bar_ms, cpu_bar_ms=bar_ms
            )
    experiment(f"{EXPERIMENT_NODES} nodes, first {EXPERIMENT_S:.0f} s of the experiment")


def experiment(case: str) -> None:
    """A round with everything around it: snapshot, call, plan and its effect."""
    setting = setting_of(AndreasCase(EXPERIMENT_NODES, 0, "andreas"))
    engine = Engine(setting, build("andreas", ANDREAS), replace(PACE, until_s=EXPERIMENT_S))
    began = process_time()
    outcome = engine.run()
    each_ms = 1000 * (process_time() - began) / outcome.rounds
    figure("andreas", case, "round_cpu_ms", each_ms, "ms", at_most=EXPERIMENT_BAR_MS)
