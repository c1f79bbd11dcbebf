"""Demand response: what a power budget would shed, asked of the live queue before it is ordered."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import numpy as np

from clusters.models import Cluster
from energy.budgets.power import LEAD, spans, windows
from energy.models import PowerBudget
from policies.contract.snapshot import PartitionTable, Snapshot
from policies.registry import build
from scheduling.snapshot.load import load_snapshot
from simulator.budget_response import BudgetWindow, Shed, estimate_shed
from whatif.forecasting import left_out, pace_of
from whatif.history import guess_of

# An answer within a request: beyond this, what was simulated until then is the answer.
BUDGET_S = 6.0
# Of a budget without an end, or one that holds every day, the first day is looked at.
LONGEST = timedelta(days=1)
# Rounds in the window; live ones come with every event and budget as well.
ROUNDS_PER_WINDOW = 60
SHORTEST_INTERVAL_S = 15.0


@dataclass(frozen=True, slots=True)
class FirstWindow:
    """Where the budget is in force first."""

    from_at: datetime
    until_at: datetime


def estimate(row: PowerBudget, *, now: datetime) -> dict[str, Any]:
    """What the cluster's own policy would do under the budget; nothing is changed."""
    cluster = row.cluster
    window = first_window(row)
    snapshot = _without_windows(load_snapshot(cluster, now=now, seed=0), cluster)
    others = windows(cluster, from_at=now, until_at=window.until_at)
    ends_s = monotonic() + BUDGET_S
    length_s = (window.until_at - window.from_at).total_seconds()
    pace = pace_of(snapshot, cluster)
    interval_s = max(SHORTEST_INTERVAL_S, length_s / ROUNDS_PER_WINDOW)
    shed = estimate_shed(
        snapshot,
        build(cluster.policy, cluster.policy_parameters),
        replace(pace, interval_s=min(pace.interval_s, interval_s)),
        guess_of(cluster.pk),
        window=_window(row, window.from_at, window.until_at, snapshot),
        others=[
            _window(other, start, end, snapshot)
            for other in others
            if other.pk != row.pk
            for start, end in spans(other, now, window.until_at)
        ],
        left_out=left_out(snapshot),
        out_of_time=lambda: monotonic() > ends_s,
    )
    return _estimate(shed, window)


def first_window(row: PowerBudget) -> FirstWindow:
    until_at = row.starts_at + LONGEST
    found = [span for span in spans(row, row.starts_at, until_at) if span[1] > row.starts_at]
    start, end = found[0] if found else (row.starts_at, until_at)
    return FirstWindow(start, min(end, start + LONGEST))


def _window(row: PowerBudget, start: datetime, end: datetime, snapshot: Snapshot) -> BudgetWindow:
    """Rounds begin a little before the budget does."""
    rows = np.flatnonzero(snapshot.partitions.id == (row.partition_id or -1)).tolist()
    return BudgetWindow(
        max((start - LEAD).timestamp(), snapshot.now_s),
        end.timestamp(),
        float(row.watts),
        rows[0] if rows else -1,
    )


def _without_windows(snapshot: Snapshot, cluster: Cluster) -> Snapshot:
    """The cluster's own budget only: windows come and go during the run."""
    columns = dict(snapshot.partitions.columns())
    columns["power_budget_w"] = np.full(len(snapshot.partitions), np.inf)
    own_w = float(cluster.power_budget_w or "inf")
    return replace(snapshot, power_budget_w=own_w, partitions=PartitionTable.of(**columns))


def _estimate(shed: Shed, window: FirstWindow) -> dict[str, Any]:
    seconds = (window.until_at - window.from_at).total_seconds()
    return {
        "from_at": _text(window.from_at.timestamp()),
        "until_at": _text(window.until_at.timestamp()),
        "baseline_w": shed.baseline_w,
        "expected_w": shed.expected_w,
        "highest_w": shed.highest_w,
        "shed_w": shed.baseline_w - shed.expected_w,
        "energy_not_drawn_j": (shed.baseline_w - shed.expected_w) * seconds,
        "feasible": shed.met_s is not None,
        "met_at": None if shed.met_s is None else _text(shed.met_s),
        "within": shed.within,
        "jobs": shed.jobs,
        "jobs_delayed": shed.delayed,
        "mean_delay_s": shed.mean_delay_s,
        "worst_delay_s": shed.worst_delay_s,
        "complete": shed.complete,
        "curve": [
            {"at": _text(at_s), "baseline_w": baseline_w, "expected_w": expected_w}
            for at_s, baseline_w, expected_w in zip(
                shed.at_s, shed.baseline_curve_w, shed.expected_curve_w, strict=True
            )
        ],
    }


def _text(time_s: float) -> str:
    """As it is kept in JSON."""
    return datetime.fromtimestamp(time_s, UTC).isoformat().replace("+00:00", "Z")
