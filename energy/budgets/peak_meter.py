"""Counts the highest quarter of an hour of clusters whose tariff charges for it, from telemetry."""

from datetime import UTC, datetime
from itertools import groupby

import numpy as np

from clusters.models import Cluster
from energy.budgets.energy_meter import MOST, SETTLES
from energy.budgets.peak import charged, demand_month
from energy.measured import measured_minutes
from energy.models import PowerState
from policies.pricing.peak import WINDOW_S, no_peaks_w, raised_w


def demand_count(state: PowerState, cluster: Cluster, *, now: datetime) -> None:
    """Look at the quarters that have settled; another month or other terms begin from nothing."""
    tariff = charged(cluster, now=now)
    if tariff is None:
        state.demand_month, state.demand_counted_at, state.demand_peaks_w = "", None, []
        return
    month, began_at = demand_month(cluster, tariff, now)
    if state.demand_month != month or state.demand_counted_at is None:
        state.demand_month, state.demand_counted_at = month, began_at
        state.demand_peaks_w = no_peaks_w(tariff)
    counted_at = state.demand_counted_at
    until_at = min(_quarter(now - SETTLES), counted_at + MOST)
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
