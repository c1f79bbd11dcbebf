"""Under which terms a window's energy is paid: price, PUE, carbon, and how it was measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clusters.models import Cluster
from energy.ledger.money import exact_cost, to_money
from policies.pricing.curve import IntArray, PriceCurve
from tariffs.curves import curves_between

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class WindowTerms:
    method: str
    pue: Decimal
    price_per_kwh: Decimal | None
    g_per_kwh: Decimal | None
    currency: str

    def cost(self, energy_mj: int) -> Decimal:
        return self._times(energy_mj, self.price_per_kwh)

    def carbon_g(self, energy_mj: int) -> Decimal:
        return self._times(energy_mj, self.g_per_kwh)

    def _times(self, energy_mj: int, per_kwh: Decimal | None) -> Decimal:
        """Unknown is not free: it is owed later, when it is known."""
        if per_kwh is None:
            return Decimal(0)
        return to_money(exact_cost(energy_mj, per_kwh) * Fraction(self.pue))


class TariffWindow(NamedTuple):
    """At most an hour, from a full hour or a change of price to the next."""

    starts_at: datetime
    ends_at: datetime
    price_per_kwh: Decimal | None
    g_per_kwh: Decimal | None


class Rates:
    """What a cluster's energy costs and emits between two moments, cut into windows."""

    def __init__(self, cluster: Cluster, from_at: datetime, until_at: datetime) -> None:
        self.cluster = cluster
        start_s = int(from_at.timestamp()) // HOUR_S * HOUR_S
        end_s = (int(until_at.timestamp()) // HOUR_S + 1) * HOUR_S
        self._price, self._carbon = curves_between(cluster, start_s, end_s)
        inner = [curve.edges_s for curve in (self._price, self._carbon) if curve is not None]
        hours = np.arange(start_s, end_s + 1, HOUR_S)
        self._edges_s: IntArray = np.unique(np.concatenate([hours, *inner])).astype(np.int64)

    def windows(self, from_at: datetime, until_at: datetime) -> Iterator[TariffWindow]:
        """All that have time in common with [from_at, until_at)."""
        first = int(np.searchsorted(self._edges_s, from_at.timestamp(), side="right")) - 1
        for start_s, end_s in pairwise(self._edges_s[max(first, 0) :].tolist()):
            if start_s >= until_at.timestamp():
                return
            price, grams = _value(self._price, start_s), _value(self._carbon, start_s)
            yield TariffWindow(_at(start_s), _at(end_s), price, grams)

    def terms(self, window: TariffWindow, method: str) -> WindowTerms:
        return WindowTerms(
            method=method,
            pue=self.cluster.pue,
            price_per_kwh=window.price_per_kwh,
            g_per_kwh=window.g_per_kwh,
            currency=self.cluster.currency,
        )


def _value(curve: PriceCurve | None, start_s: int) -> Decimal | None:
    if curve is None:
        return None
    return next(curve.windows(start_s, start_s + 1)).price


def _at(time_s: int) -> datetime:
    return datetime.fromtimestamp(time_s, UTC)
