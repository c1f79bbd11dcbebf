"""How long the brain takes: milliseconds to plan, to check the plan, and to encode the snapshot."""

import math
from functools import partial

from lab.benchmarks.figures import best, figure
from lab.benchmarks.plans.fairwatt import figures_of_gap
from lab.benchmarks.plans.measure import Parameters, figures_of_plan, fresh_plan, sound_plan
from lab.benchmarks.plans.snapshots import SNAPSHOTS
from policies.contract.invariants import check_plan
from policies.contract.snapshot import Snapshot

PLAN_BAR_MS = 150.0
CHECK_BAR_MS = 50.0
ENCODE_BAR_MS = 100.0
BARRED = "1250x8/"
"""The beginning of the largest cases, for which bars are set."""
MIDDLE, LARGE = "128x8/1000/1000", "1250x8/10000/10000"
POLICIES: list[tuple[str, str, Parameters]] = [
    ("fifo", "fifo", {}),
    ("fifo-backfill", "fifo-backfill", {}),
    ("conservative-backfill", "conservative-backfill", {}),
    ("priority", "priority", {}),
    ("fair-share", "fair-share", {"preempt": True}),
    ("las", "las", {}),
    ("srtf", "srtf", {}),
    ("srtf-unbounded", "srtf", {"max_preemptions": 100_000}),
]
ALL_QUEUED_BARS_MS = {"fifo": 350.0, "fairwatt": 700.0}
# Stopping thousands of jobs in one round is no promise, only a figure worth knowing.
UNBARRED = {"srtf-unbounded"}


def measure(case: str, snapshot: Snapshot) -> dict[str, float]:
    """Milliseconds of a plan by the policy's label."""
    plan_ms: dict[str, float] = {}
    barred = case.startswith(BARRED)
    for label, name, parameters in POLICIES:
        plan = sound_plan(name, parameters, snapshot)
        plan_ms[label] = figures_of_plan(
            "plan",
            f"{case} {label}",
            partial(fresh_plan, name, parameters, snapshot),
            wall_bar_ms=PLAN_BAR_MS if barred and label not in UNBARRED else None,
        ).wall_ms
        check_ms = best(partial(check_plan, snapshot, plan)).wall_ms
        check_bar_ms = CHECK_BAR_MS if barred else None
        figure("plan", f"{case} {label}", "check_ms", check_ms, "ms", at_most=check_bar_ms)
    encode_ms = best(snapshot.to_bytes).wall_ms
    figure("plan", case, "encode_ms", encode_ms, "ms", at_most=ENCODE_BAR_MS if barred else None)
    return plan_ms


def measure_all_queued(case: str, snapshot: Snapshot) -> None:
    """A round in which every job of a long queue starts."""
    for name, bar_ms in ALL_QUEUED_BARS_MS.items():
        sound_plan(name, {}, snapshot)
        fresh = partial(fresh_plan, name, {}, snapshot)
        figures_of_plan("plan", f"{case} {name}", fresh, wall_bar_ms=bar_ms)


def main() -> None:
    plan_ms = {case: measure(case, snapshot()) for case, snapshot in SNAPSHOTS["plan"].items()}
    middle, large = (int(case.split("/")[1]) for case in (MIDDLE, LARGE))
    allowed = large * math.log(large) / (middle * math.log(middle))
    for label, *_ in POLICIES:
        growth = plan_ms[LARGE][label] / plan_ms[MIDDLE][label]
        bar = None if label in UNBARRED else round(allowed, 3)
        figure("plan", f"{middle}->{large} {label}", "plan_growth", growth, "x", at_most=bar)
    for case, snapshot in SNAPSHOTS["all-queued"].items():
        measure_all_queued(case, snapshot())
    figures_of_gap("plan")
