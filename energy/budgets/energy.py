"""What a cluster may still draw of its energy per day or month, PUE included.

Minutes are counted once their readings are in. What was drawn since then is taken to be what the
last measured minute says.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from clusters.models import Cluster
from energy.budgets.power import Span
from energy.measured import CATCH_UP_MOST, SETTLES, measured_minutes
from energy.models import PowerState

WH_J = 3600.0
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class EnergyLeft:
    """Of the running period; less than nothing is left when too much was drawn."""

    period: str
    from_at: datetime
    until_at: datetime
    counted_at: datetime
    budget_wh: int
    drawn_wh: float

    @property
    def left_wh(self) -> float:
        return self.budget_wh - self.drawn_wh

    @property
    def left_j(self) -> float:
        return self.left_wh * WH_J


def energy_left(cluster: Cluster, *, now: datetime) -> EnergyLeft | None:
    """None without an energy budget."""
    if cluster.energy_budget_wh is None or cluster.energy_period is None:
        return None
    from_at, until_at = energy_period(cluster, now)
    state = PowerState.objects.filter(cluster=cluster, partition=None).first() or PowerState()
    counted_at, drawn_j = from_at, 0.0
    if state.energy_from_at == from_at and state.energy_counted_at is not None:
        counted_at, drawn_j = state.energy_counted_at, state.energy_drawn_j
    since_s = max((now - counted_at).total_seconds(), 0.0)
    drawn_j += (state.measured_w or 0.0) * float(cluster.pue) * since_s
    return EnergyLeft(
        period=cluster.energy_period,
        from_at=from_at,
        until_at=until_at,
        counted_at=counted_at,
        budget_wh=cluster.energy_budget_wh,
        drawn_wh=drawn_j / WH_J,
    )


def energy_count(state: PowerState, cluster: Cluster, *, now: datetime) -> bool:
    """Add the minutes that have settled; whether a period has begun, which a round should know."""
    if cluster.energy_budget_wh is None:
        state.energy_from_at = state.energy_counted_at = None
        state.energy_drawn_j = 0.0
        return False
    from_at, _ = energy_period(cluster, now)
    begun = state.energy_from_at != from_at
    if begun or state.energy_counted_at is None:
        state.energy_from_at = state.energy_counted_at = from_at
        state.energy_drawn_j = 0.0
    counted_at = state.energy_counted_at
    until_at = min((now - SETTLES).replace(second=0, microsecond=0), counted_at + CATCH_UP_MOST)
    if until_at > counted_at:
        minutes = measured_minutes(
            cluster.pk, partition_id=None, from_at=counted_at, until_at=until_at
        )
        drawn_j = sum(watts for _, watts, _ in minutes) * MINUTE_S
        state.energy_drawn_j += drawn_j * float(cluster.pue)
        state.energy_counted_at = until_at
    return begun


def energy_period(cluster: Cluster, now: datetime) -> Span:
    """The day or month that is running, from midnight to midnight where the tariff is at home."""
    zone = ZoneInfo("UTC" if cluster.tariff is None else cluster.tariff.timezone)
    first = now.astimezone(zone).date()
    after = first + timedelta(days=1)
    if cluster.energy_period == Cluster.EnergyPeriod.MONTH:
        first = first.replace(day=1)
        # No month has more than 31 days, and none fewer than 28.
        after = (first + timedelta(days=31)).replace(day=1)
    return _midnight(first, zone), _midnight(after, zone)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
