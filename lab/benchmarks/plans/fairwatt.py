"""How long one fairwatt plan takes, and how far it may be from the cheapest."""

from functools import partial

import numpy as np

from lab.benchmarks.figures import best, figure
from lab.benchmarks.plans.measure import figures_of_plan, fresh_plan, sound_plan
from lab.benchmarks.plans.snapshots import SNAPSHOTS, priced
from policies.contract.policy import gap
from policies.contract.snapshot import Snapshot
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.policy import Fairwatt

BARS_MS = {"128x8/1000 queued/500 running": 400.0, "1250x8/10000 queued/2500 running": 4_000.0}
GAP_ROUNDS = 5
GAPS = {
    "20x8/100 queued/40 running": ((20, 100, 40), 0.10),
    "128x8/1000 queued/500 running": ((128, 1_000, 500), 0.08),
}
"""Sizes of snapshots, and what the mean gap of a few of them may be."""


def measure(case: str, snapshot: Snapshot) -> None:
    plan, bar_ms = sound_plan("fairwatt", {}, snapshot), BARS_MS[case]
    fresh = partial(fresh_plan, "fairwatt", {}, snapshot)
    figures_of_plan("fairwatt", case, fresh, wall_bar_ms=bar_ms, cpu_bar_ms=bar_ms)
    taken = best(lambda: Fairwatt(FairwattParameters()).bound(snapshot, plan.objective))
    figure("fairwatt", case, "bound_cpu_ms", taken.cpu_ms, "ms")


def mean_gap(nodes: int, queued: int, running: int) -> float:
    """Over a few snapshots, of what the plan may cost too much, of its objective."""
    policy, gaps = Fairwatt(FairwattParameters()), []
    for seed in range(GAP_ROUNDS):
        snapshot = priced(nodes, queued, running, seed)
        objective = policy.plan(snapshot).objective
        gaps.append(gap(objective, policy.bound(snapshot, objective)))
    return float(np.mean(gaps))


def figures_of_gap(bench: str) -> None:
    for case, (size, bar) in GAPS.items():
        figure(bench, case, "mean_gap", mean_gap(*size), "of the objective", at_most=bar)


def main() -> None:
    for case, snapshot in SNAPSHOTS["fairwatt"].items():
        measure(case, snapshot())
    figures_of_gap("fairwatt")
