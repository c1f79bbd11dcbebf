"""What was drawn under a power budget, minute by minute, from telemetry."""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from energy.budgets.power import covers
from energy.measured import measured_minutes
from energy.models import PowerBudget

MINUTE = timedelta(minutes=1)
# The newest of a long one; the sums are over the same minutes.
MOST_MINUTES = 1440
SLACK = 0.02


@dataclass(frozen=True, slots=True)
class ProofMinute:
    """`baseline_w` was estimated without the budget when it was ordered."""

    at: datetime
    measured_w: float
    budget_w: int
    baseline_w: float | None
    unread_gpus: int


@dataclass(frozen=True, slots=True)
class Proof:
    """`within` is the share of minutes at most 2 % above the budget; null before there are any."""

    minutes: list[ProofMinute] = field(default_factory=list)
    within: float | None = None
    worst_w: float | None = None
    mean_w: float | None = None
    energy_j: float = 0.0
    energy_not_drawn_j: float | None = None


def proof(row: PowerBudget, *, now: datetime) -> Proof:
    """Of whole minutes in which the budget was in force throughout."""
    end = _minute(min(row.ends_at or now, now))
    start = max(
        _minute(row.starts_at + MINUTE - timedelta(microseconds=1)), end - MOST_MINUTES * MINUTE
    )
    if start >= end:
        return Proof()
    found = measured_minutes(
        row.cluster_id, partition_id=row.partition_id, from_at=start, until_at=end
    )
    minutes = [
        ProofMinute(at, watts, row.watts, _baseline(row, at), unread)
        for at, watts, unread in found
        if covers(row, at, at + MINUTE)
    ]
    return _summed(minutes) if minutes else Proof()


def _summed(minutes: list[ProofMinute]) -> Proof:
    seconds = MINUTE.total_seconds()
    watts = [minute.measured_w for minute in minutes]
    saved = [
        (minute.baseline_w - minute.measured_w) * seconds
        for minute in minutes
        if minute.baseline_w is not None
    ]
    return Proof(
        minutes=minutes,
        within=sum(m.measured_w <= m.budget_w * (1 + SLACK) for m in minutes) / len(minutes),
        worst_w=max(watts),
        mean_w=sum(watts) / len(watts),
        energy_j=sum(watts) * seconds,
        energy_not_drawn_j=sum(saved) if saved else None,
    )


def _baseline(row: PowerBudget, at: datetime) -> float | None:
    """The step of the estimated curve that the minute begins in."""
    if not row.estimate:
        return None
    steps = row.estimate["curve"]
    times = [datetime.fromisoformat(step["at"]) for step in steps]
    number = bisect_right(times, at) - 1
    over = datetime.fromisoformat(row.estimate["until_at"]) <= at
    return None if number < 0 or over else float(steps[number]["baseline_w"])


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
