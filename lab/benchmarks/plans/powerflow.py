"""How long one PowerFlow-style plan takes: 128 nodes of 8 GPUs, 1,000 elastic jobs, 8 clocks."""

from functools import partial

from lab.benchmarks.plans.measure import figures_of_plan, fresh_plan, sound_plan
from lab.benchmarks.plans.snapshots import SNAPSHOTS

PLAN_BAR_MS = 200.0


def main() -> None:
    for case, made in SNAPSHOTS["powerflow"].items():
        snapshot = made()
        sound_plan("powerflow", {}, snapshot)
        fresh = partial(fresh_plan, "powerflow", {}, snapshot)
        figures_of_plan("powerflow", case, fresh, wall_bar_ms=PLAN_BAR_MS)
