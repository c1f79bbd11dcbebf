"""What one scheduling call of ANDREAS costs, alone and within its published experiment."""

from dataclasses import replace
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from lab.benchmarks.figures import figure
from lab.benchmarks.plan import best
from lab.experiments.andreas.settings import ANDREAS, PACE, Case, setting_of
from policies.contract.snapshot import Snapshot
from policies.registry import build
from simulator.engine import Engine
from simulator.prices import PriceView
from simulator.world import World

NODES, JOBS = 100, 450
CALL_BAR_MS = 150.0
# Two cores for twenty minutes, shared by the experiment's calls at 100 nodes and all smaller ones.
EXPERIMENT_BAR_MS = 40.0
EXPERIMENT_S = 20_000.0


def crowded() -> Snapshot:
    """Jobs enough that some wait: a minute after the first schedule was put into effect."""
    setting = setting_of(Case(NODES, 0, "andreas"))
    jobs = setting.jobs.rows(np.arange(JOBS)).but(submitted_s=np.zeros(JOBS))
    setting = replace(setting, jobs=jobs, believed_work=jobs.work)
    world, prices = World(setting), PriceView(setting)
    world.advance(0.0)
    policy = build("andreas", ANDREAS)
    world.apply(policy.plan(world.snapshot(prices.at(0.0), setting.believed_profiles)))
    world.now_s = 60.0
    return world.snapshot(prices.at(60.0), setting.believed_profiles)


def main() -> None:
    snapshot = crowded()
    case = f"{NODES} nodes/{JOBS} jobs"
    options: list[tuple[str, dict[str, Any], float | None]] = [
        ("1000 constructions", {}, CALL_BAR_MS),
        ("100 constructions", {"iterations": 100}, None),
        ("1000, path relinking", {"path_relinking": 8}, None),
        ("1000, local search", {"local_search": 10}, None),
    ]
    for label, given, bar in options:
        policy = build("andreas", {**ANDREAS, **given})
        policy.plan(snapshot)
        taken = best(partial(policy.plan, snapshot))
        figure("andreas", f"{case}/{label}", "plan_ms", taken.wall_ms, "ms", at_most=bar)
        figure("andreas", f"{case}/{label}", "plan_cpu_ms", taken.cpu_ms, "ms", at_most=bar)
    experiment(f"{NODES} nodes, first {EXPERIMENT_S:.0f} s of the experiment")


def experiment(case: str) -> None:
    """A round with everything around it: snapshot, call, plan and its effect."""
    setting = setting_of(Case(NODES, 0, "andreas"))
    engine = Engine(setting, build("andreas", ANDREAS), replace(PACE, until_s=EXPERIMENT_S))
    began = process_time()
    outcome = engine.run()
    each_ms = 1000 * (process_time() - began) / outcome.rounds
    figure("andreas", case, "round_cpu_ms", each_ms, "ms", at_most=EXPERIMENT_BAR_MS)


if __name__ == "__main__":
    main()
