"""The price of a watt from now on: a line of constant prices, and its integral."""

from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import Snapshot
from policies.pricing.curve import J_PER_KWH


class PriceLine(NamedTuple):
    """Money per watt and second, PUE included, from `at_s[i]` on; `at_s` are seconds from now."""

    at_s: F64
    price: F64
    area: F64
    known_s: float
    """Up to here the tariff told the prices; beyond, the last one is taken to stay."""

    @property
    def flat(self) -> bool:
        return len(self.at_s) == 1

    def cost(self, from_s: F64 | float, to_s: F64) -> F64:
        """Of one watt between two times."""
        return np.asarray(self._until(to_s) - self._until(from_s), np.float64)

    def _until(self, at_s: F64 | float) -> F64:
        segment = np.searchsorted(self.at_s, at_s, side="right") - 1
        beyond = np.asarray(at_s) - self.at_s[segment]
        return np.asarray(self.area[segment] + self.price[segment] * beyond, np.float64)


def price_line(
    snapshot: Snapshot, default_per_kwh: float, *, carbon_per_kg: float = 0.0
) -> PriceLine:
    """An hour without a known price costs the default, and nobody waits beyond the first.

    A kg of CO2 costs `carbon_per_kg` on top, in the hours whose carbon is known.
    """
    prices = snapshot.prices
    if not len(prices):
        from_s, per_kwh, known_s = np.zeros(1), np.array([default_per_kwh]), np.inf
    else:
        first = max(int(np.searchsorted(prices.from_s, snapshot.now_s, side="right")) - 1, 0)
        from_s = np.maximum(prices.from_s[first:] - snapshot.now_s, 0.0)
        from_s[0] = 0.0
        unknown = np.isnan(prices.price_per_kwh[first:])
        per_kwh = np.where(unknown, default_per_kwh, prices.price_per_kwh[first:])
        carbon_g = np.nan_to_num(prices.carbon_g_per_kwh[first:])
        per_kwh = per_kwh + carbon_g / 1000 * carbon_per_kg
        known_s = float(from_s[unknown.argmax()]) if unknown.any() else np.inf
    changes = np.append(True, np.diff(per_kwh) != 0)
    from_s, per_kwh = from_s[changes], per_kwh[changes]
    price = per_kwh * snapshot.pue / J_PER_KWH
    area = np.concatenate([[0.0], np.cumsum(price[:-1] * np.diff(from_s))])
    return PriceLine(from_s, price, area, known_s)
