"""What a power budget over a window would shed, by when, and how much later jobs would end.

The live queue is run forward twice under its own policy: with the budgets there are, and with the
one in question. What the policy does under it is what a round would do.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from policies.contract.columns import F64, Bool
from policies.contract.plan import Plan
from policies.contract.policy import Policy
from policies.contract.snapshot import NodeState, PartitionTable, Snapshot
from simulator.engine import Engine, Pace
from simulator.forecast import run_within, start_and_finish
from simulator.live import EnergyTerms, Guess, engine_from

# Enough to draw the window with.
STEPS = 60
# Sums of floats in another order.
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class BudgetWindow:
    """An upper bound of watts from then until then, of the cluster or of one partition row."""

    from_s: float
    until_s: float
    watts: float
    partition: int = -1


@dataclass(frozen=True, slots=True)
class Shed:
    """Means and ends over the window; delays over jobs that end in both runs.

    `met_s` is from when on the draw stays within the budget, None if it never does. `complete` is
    false when time ran out before all jobs had ended; then delays are not known.
    """

    baseline_w: float
    expected_w: float
    highest_w: float
    met_s: float | None
    within: float
    jobs: int
    delayed: int
    mean_delay_s: float | None
    worst_delay_s: float | None
    complete: bool
    at_s: list[float]
    baseline_curve_w: list[float]
    expected_curve_w: list[float]


class Bounded:
    """A policy that sees the budgets in force at the time of each snapshot."""

    def __init__(self, policy: Policy, windows: Sequence[BudgetWindow]) -> None:
        self._policy, self._windows = policy, windows
        self.work_conserving = policy.work_conserving
        self.minds_running = policy.minds_running

    def plan(self, snapshot: Snapshot) -> Plan:
        now_s = snapshot.now_s
        open_ones = [w for w in self._windows if w.from_s <= now_s < w.until_s]
        partitions = snapshot.partitions.power_budget_w.copy()
        cluster_w = snapshot.power_budget_w
        for window in open_ones:
            if window.partition < 0:
                cluster_w = min(cluster_w, window.watts)
            else:
                at = window.partition
                partitions[at] = min(partitions[at], window.watts)
        table = PartitionTable.of(
            **{**dict(snapshot.partitions.columns()), "power_budget_w": partitions}
        )
        return self._policy.plan(replace(snapshot, power_budget_w=cluster_w, partitions=table))


def estimate_shed(
    snapshot: Snapshot,
    policy: Policy,
    pace: Pace,
    guess: Guess,
    *,
    window: BudgetWindow,
    others: Sequence[BudgetWindow] = (),
    terms: EnergyTerms | None = None,
    left_out: Collection[int] = (),
    out_of_time: Callable[[], bool] = lambda: False,
) -> Shed:
    """`others` are in force anyway; the snapshot's own budgets hold all the time."""
    runs = []
    for windows in (others, (*others, window)):
        bounded = Bounded(policy, windows)
        live = engine_from(snapshot, bounded, pace, guess, terms=terms, left_out=left_out)
        runs.append((live.engine, run_within(live.engine, out_of_time)))
    (before, before_done), (after, after_done) = runs
    complete = before_done and after_done
    edges_s = np.linspace(max(window.from_s, snapshot.now_s), window.until_s, STEPS + 1)
    rows = _nodes(snapshot, window.partition)
    baseline = _means(before, rows, edges_s)
    expected = _means(after, rows, edges_s)
    kept = expected <= window.watts * (1 + SLACK)
    delay_s = start_and_finish(after)[1] - start_and_finish(before)[1]
    known = delay_s[~np.isnan(delay_s)] if complete else np.empty(0)
    return Shed(
        baseline_w=float(baseline.mean()),
        expected_w=float(expected.mean()),
        highest_w=float(expected.max()),
        met_s=_met(edges_s, kept),
        within=float(kept.mean()),
        jobs=len(known),
        delayed=int((known > 1).sum()),
        mean_delay_s=float(known.mean()) if len(known) else None,
        worst_delay_s=float(known.max()) if len(known) else None,
        complete=complete,
        at_s=edges_s[:-1].tolist(),
        baseline_curve_w=baseline.tolist(),
        expected_curve_w=expected.tolist(),
    )


def _nodes(snapshot: Snapshot, partition: int) -> Bool:
    nodes = snapshot.nodes
    return np.ones(len(nodes), np.bool_) if partition < 0 else nodes.partition == partition


def _met(edges_s: F64, kept: Bool) -> float | None:
    late = np.flatnonzero(~kept)
    first = int(late[-1]) + 1 if len(late) else 0
    return float(edges_s[first]) if first < len(kept) else None


def _means(engine: Engine, rows: Bool, edges_s: F64) -> F64:
    """Mean watts of some nodes, before PUE, in every step."""
    at_s, change_w = _changes(engine, rows)
    order = np.argsort(at_s, kind="stable")
    at_s, watts = at_s[order], np.cumsum(change_w[order])
    if not len(at_s):
        return np.zeros(len(edges_s) - 1)
    areas = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(at_s))])
    beyond = areas[-1] + watts[-1] * np.maximum(edges_s - at_s[-1], 0)
    joules = np.where(edges_s > at_s[-1], beyond, np.interp(edges_s, at_s, areas))
    return np.asarray(np.diff(joules) / np.diff(edges_s), np.float64)


def _changes(engine: Engine, rows: Bool) -> tuple[F64, F64]:
    """When the draw of some nodes changes, and by how much: jobs begin and end, nodes switch."""
    log, setting = engine.world.log, engine.setting
    stretches, nodes = log.table(), setting.machines.nodes
    share = np.array([_share(pieces, rows) for pieces in log.pieces])
    busy = stretches.watts * share if len(share) else np.empty(0)
    idle_w = nodes.host_idle_w + nodes.gpus * setting.machines.gpu_types.idle_w[nodes.gpu_type]
    on = rows & (nodes.state != NodeState.OFF)
    times, watts = [setting.origin_s], [float(idle_w[on].sum())]
    lit = on.copy()
    for at_s, node, state in log.node_changes:
        lights = state != NodeState.OFF
        if rows[node] and lit[node] != lights:
            lit[node] = lights
            times.append(at_s)
            watts.append(float(idle_w[node]) if lights else -float(idle_w[node]))
    return (
        np.concatenate([stretches.from_s, stretches.to_s, times]),
        np.concatenate([busy, -busy, watts]),
    )


def _share(pieces: Sequence[tuple[int, int, int, int]], rows: Bool) -> float:
    """Of a job's GPUs, those on the nodes; they draw about the same each."""
    here = sum(gpus.bit_count() for node, gpus, _, _ in pieces if rows[node])
    return here / sum(gpus.bit_count() for _, gpus, _, _ in pieces)
