"""What a run of the live queue is told of energy, so that its rounds see what live ones would."""

from datetime import datetime

from clusters.models import Cluster
from energy.budgets.energy import WH_J, energy_period
from energy.budgets.peak import counted_peaks
from policies.pricing.published import BEHIND_S
from simulator.budgets import Allowance
from simulator.live import EnergyTerms
from tariffs.curves import curves_between


def energy_terms(cluster: Cluster, *, now: datetime, seconds: int) -> EnergyTerms:
    """Prices and carbon so far ahead, the demand charge if its month is counted, later energy.

    Prices begin a day ago, as those of a live round do.
    """
    start_s = int(now.timestamp())
    price, carbon = curves_between(cluster, start_s - BEHIND_S, start_s + seconds)
    peaks = counted_peaks(cluster, now=now)
    return EnergyTerms(
        price=price,
        carbon=carbon,
        tariff=None if peaks is None else peaks[0],
        allowance=_later_energy(cluster, now),
    )


def _later_energy(cluster: Cluster, now: datetime) -> Allowance | None:
    """All later periods are taken to be as long as the next."""
    if cluster.energy_budget_wh is None:
        return None
    _, ends_at = energy_period(cluster, now)
    from_at, until_at = energy_period(cluster, ends_at)
    return Allowance(
        period_j=cluster.energy_budget_wh * WH_J, period_s=(until_at - from_at).total_seconds()
    )
