"""How a policy's plan is timed."""

import sys
from collections.abc import Callable
from typing import Any

from lab.benchmarks.figures import Taken, best, figure
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from policies.registry import build

Parameters = dict[str, Any]


def fresh_plan(policy: str, parameters: Parameters, snapshot: Snapshot) -> Plan:
    """As a live round does: a policy that keeps nothing of earlier rounds, and every reason."""
    return build(policy, parameters).plan(snapshot).settled()


def sound_plan(policy: str, parameters: Parameters, snapshot: Snapshot) -> Plan:
    """A first one, which reads or makes compiled kernels; an unsound one ends the benchmark."""
    plan = fresh_plan(policy, parameters, snapshot)
    if broken := check_plan(snapshot, plan):
        sys.exit(f"{policy} made a plan that must not be: {broken[0].message}")
    return plan


def figures_of_plan(
    bench: str,
    case: str,
    plan: Callable[[], object],
    *,
    wall_bar_ms: float | None = None,
    cpu_bar_ms: float | None = None,
) -> Taken:
    taken = best(plan)
    figure(bench, case, "plan_ms", taken.wall_ms, "ms", at_most=wall_bar_ms)
    figure(bench, case, "plan_cpu_ms", taken.cpu_ms, "ms", at_most=cpu_bar_ms)
    return taken
