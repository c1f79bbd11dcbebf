"""The running month's highest draw, PUE included, where the cluster's tariff charges for it.

Quarters of an hour are counted once their readings are in.
"""

from datetime import UTC, datetime, timedelta
from itertools import groupby

import numpy as np

from clusters.models import Cluster
from energy.measured import CATCH_UP_MOST, SETTLES, measured_minutes
from energy.models import PowerState
from policies.pricing.peak import (
    WINDOW_S,
    Metered,
    metered,
    month_begins_s,
    months_of,
    next_watt,
    no_peaks_w,
    raised_w,
)
from tariffs.curves import pure_tariff
from tariffs.models import Tariff

# A quarter is counted some minutes after its end; what is older than this has to catch up first.
STALE = timedelta(hours=1)


def charged(cluster: Cluster, *, now: datetime) -> Metered | None:
    """The cluster's tariff, if it charges anything for demand."""
    if cluster.tariff is None or cluster.tariff.kind == Tariff.Kind.HOURLY:
        return None
    at_s = int(now.timestamp())
    return metered(pure_tariff(cluster.tariff, at_s, at_s + 1))


def demand_month(cluster: Cluster, tariff: Metered, now: datetime) -> tuple[str, datetime]:
    """A name for the month and the terms that its peaks are counted under; when it began."""
    month = int(months_of(tariff, np.array([now.timestamp()]))[0])
    version = 0 if cluster.tariff is None else cluster.tariff.version
    began_at = datetime.fromtimestamp(month_begins_s(tariff, month), UTC)
    return f"{month} {cluster.tariff_id}/{version}", began_at


def demand_seen(cluster: Cluster, *, now: datetime) -> tuple[float, float]:
    """The peak that counts now, and what every watt above it costs."""
    found = counted_peaks(cluster, now=now)
    return (0.0, 0.0) if found is None else next_watt(*found, now.timestamp())


def counted_peaks(cluster: Cluster, *, now: datetime) -> tuple[Metered, list[float]] | None:
    """The tariff that charges for demand, and this month's peaks.

    Nothing is charged until the month has been counted: nobody waits for what is not known.
    """
    tariff = charged(cluster, now=now)
    if tariff is None:
        return None
    state = PowerState.objects.filter(cluster=cluster, partition=None).first()
    if state is None or state.demand_counted_at is None:
        return None
    month, _ = demand_month(cluster, tariff, now)
    if state.demand_month != month or now - state.demand_counted_at > STALE:
        return None
    return tariff, state.demand_peaks_w


def demand_count(state: PowerState, cluster: Cluster, *, now: datetime) -> None:
    """Count the quarters that have settled; another month or other terms begin from nothing."""
    tariff = charged(cluster, now=now)
    if tariff is None:
        state.demand_month, state.demand_counted_at, state.demand_peaks_w = "", None, []
        return
    month, began_at = demand_month(cluster, tariff, now)
    if state.demand_month != month or state.demand_counted_at is None:
        state.demand_month, state.demand_counted_at = month, began_at
        state.demand_peaks_w = no_peaks_w(tariff)
    counted_at = state.demand_counted_at
    until_at = min(_quarter(now - SETTLES), counted_at + CATCH_UP_MOST)
    if until_at > counted_at:
        starts_s, mean_w = _means(cluster, counted_at, until_at)
        if len(starts_s):
            state.demand_peaks_w = raised_w(tariff, state.demand_peaks_w, starts_s, mean_w)
        state.demand_counted_at = until_at


def _means(
    cluster: Cluster, from_at: datetime, until_at: datetime
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Beginnings of quarters and their watts, PUE included; minutes nobody read are left out."""
    minutes = measured_minutes(cluster.pk, partition_id=None, from_at=from_at, until_at=until_at)
    found = {
        quarter.timestamp(): float(np.mean([watts for _, watts, _ in group]))
        for quarter, group in groupby(minutes, key=lambda minute: _quarter(minute[0]))
    }
    watts = np.array(list(found.values()), np.float64) * float(cluster.pue)
    return np.array(list(found), np.float64), watts


def _quarter(at: datetime) -> datetime:
    return datetime.fromtimestamp(at.timestamp() // WINDOW_S * WINDOW_S, UTC)
