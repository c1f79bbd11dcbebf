"""Counts what clusters with an energy budget draw, minute by minute from telemetry."""

from datetime import datetime, timedelta

from clusters.models import Cluster
from energy.budgets.energy import energy_period
from energy.measured import measured_minutes
from energy.models import PowerState

MINUTE_S = 60.0
# Readings of a minute that come later than that are not counted.
SETTLES = timedelta(minutes=5)
# At one look: a budget that is given late in a month has weeks to catch up with.
MOST = timedelta(hours=1)


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
    until_at = min((now - SETTLES).replace(second=0, microsecond=0), counted_at + MOST)
    if until_at > counted_at:
        minutes = measured_minutes(
            cluster.pk, partition_id=None, from_at=counted_at, until_at=until_at
        )
        drawn_j = sum(watts for _, watts, _ in minutes) * MINUTE_S
        state.energy_drawn_j += drawn_j * float(cluster.pue)
        state.energy_counted_at = until_at
    return begun
