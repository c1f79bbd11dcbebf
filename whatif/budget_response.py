"""Demand response: what a power budget would shed, asked of the live queue before it is ordered."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from energy.budgets.power import spans
from energy.models import PowerBudget
from policies.registry import build
from scheduling.snapshot.load import load_snapshot
from simulator.budget_response import Shed, estimate_shed
from whatif.energy_terms import energy_terms
from whatif.forecasting import PRICED_S, left_out, pace_of
from whatif.history import guess_of
from whatif.power_windows import PowerWindows

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
    loaded = load_snapshot(cluster, now=now, seed=0)
    budgets = PowerWindows(cluster, loaded)
    snapshot = budgets.left_out_of(loaded)
    ends_s = monotonic() + BUDGET_S
    length_s = (window.until_at - window.from_at).total_seconds()
    pace = pace_of(snapshot, cluster)
    interval_s = max(SHORTEST_INTERVAL_S, length_s / ROUNDS_PER_WINDOW)
    shed = estimate_shed(
        snapshot,
        build(cluster.policy, cluster.policy_parameters),
        replace(pace, interval_s=min(pace.interval_s, interval_s)),
        guess_of(cluster.pk),
        window=budgets.window(row, window.from_at, window.until_at),
        others=budgets.until(window.until_at, now=now, but=row),
        terms=energy_terms(cluster, now=now, seconds=PRICED_S),
        left_out=left_out(snapshot),
        out_of_time=lambda: monotonic() > ends_s,
    )
    return _estimate(shed, window)


def first_window(row: PowerBudget) -> FirstWindow:
    until_at = row.starts_at + LONGEST
    found = [span for span in spans(row, row.starts_at, until_at) if span[1] > row.starts_at]
    start, end = found[0] if found else (row.starts_at, until_at)
    return FirstWindow(start, min(end, start + LONGEST))


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
