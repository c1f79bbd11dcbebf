"""The price of a watt from now on: a line of constant prices, and its integral."""

from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import Snapshot
from policies.pricing.curve import J_PER_KWH
from policies.pricing.published import BEHIND_S
from policies.pricing.tariff import HOUR_S


class PriceLine(NamedTuple):
    """Money per watt and second, PUE included, from `at_s[i]` on; `at_s` are seconds from now."""

    at_s: F64
    price: F64
    area: F64
    known_s: float
    """Up to here all prices are known; infinite where they would make no difference."""

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
    """An hour whose price nobody knows is taken to cost the mean of those known, or the default.

    Hours of the day behind us count like those ahead: what is published ahead may be a cheap night
    and little else. A kg of CO2 costs `carbon_per_kg` on top; hours of unknown carbon have the
    mean's, or none.
    """
    prices = snapshot.prices
    if not len(prices):
        from_s, per_kwh, known_s = np.zeros(1), np.array([default_per_kwh]), np.inf
    else:
        first = max(int(np.searchsorted(prices.from_s, snapshot.now_s, side="right")) - 1, 0)
        since_s = np.maximum(prices.from_s - snapshot.now_s, -BEHIND_S)
        unknown = np.isnan(prices.price_per_kwh[first:])
        per_kwh = _filled(prices.price_per_kwh, since_s, default_per_kwh)
        carbon_g = _filled(prices.carbon_g_per_kwh, since_s, 0.0)
        per_kwh = (per_kwh + carbon_g / 1000 * carbon_per_kg)[first:]
        from_s = np.maximum(since_s[first:], 0.0)
        from_s[0] = 0.0
        known_s = float(from_s[unknown.argmax()]) if unknown.any() else np.inf
    changes = np.append(True, np.diff(per_kwh) != 0)
    from_s, per_kwh = from_s[changes], per_kwh[changes]
    price = per_kwh * snapshot.pue / J_PER_KWH
    area = np.concatenate([[0.0], np.cumsum(price[:-1] * np.diff(from_s))])
    return PriceLine(from_s, price, area, known_s if len(from_s) > 1 else np.inf)


def _filled(values: F64, from_s: F64, default: float) -> F64:
    """Unknown hours as the known ones are on average: the last of them says little of a week."""
    known = ~np.isnan(values)
    # A last row that is known has no end: it counts like an hour of many.
    length_s = np.append(np.diff(from_s), HOUR_S) * known
    mean = default
    if length_s.any():
        mean = float(np.average(np.nan_to_num(values), weights=length_s))
        # Rounding must not make hours of one price differ.
        mean = min(max(mean, float(values[known].min())), float(values[known].max()))
    return np.where(known, values, mean)
