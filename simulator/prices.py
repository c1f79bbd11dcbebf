"""The prices a policy may see at a moment: what is known, or believed, of the two days ahead."""

from decimal import Decimal

import numpy as np

from policies.contract.snapshot import PriceTable
from policies.pricing.curve import PriceCurve
from simulator.setting import Setting

HORIZON_S = 2 * 86_400
HOUR_S = 3600


class PriceView:
    """Rebuilt only when another price has come into force."""

    def __init__(self, setting: Setting) -> None:
        self._curve, self._carbon = setting.price, setting.carbon
        self._believed = setting.believed_price
        self._prices = PriceTable.unknown()
        self._good_until_s = -np.inf if self._curve is not None else np.inf

    def at(self, now_s: float) -> PriceTable:
        curve = self._curve
        if curve is None or now_s < self._good_until_s:
            return self._prices
        seen = self._believed or curve
        first = max(int(np.searchsorted(seen.edges_s, now_s, side="right")) - 1, 0)
        last = int(np.searchsorted(seen.edges_s[:-1], now_s + HORIZON_S))
        from_s = seen.edges_s[:-1][first:last].astype(np.float64)
        price = seen.prices[first:last].copy()
        if len(from_s) and from_s[0] <= now_s:
            price[0] = curve.price_at(now_s)
        grams = np.nan if self._carbon is None else self._carbon.price_at(from_s)
        self._prices = PriceTable.of(
            from_s=from_s,
            price_per_kwh=price,
            carbon_g_per_kwh=np.broadcast_to(grams, from_s.shape),
        )
        self._good_until_s = float(min(curve.next_change(now_s), seen.next_change(now_s)))
        return self._prices


def noisy(curve: PriceCurve, spread: float, random: np.random.Generator) -> PriceCurve:
    """Every hour's price times 1 + `spread` x N(0, 1), each hour drawn alone, no factor below 0."""
    hours_s = np.arange(curve.start_s // HOUR_S, -(-curve.end_s // HOUR_S) + 1) * HOUR_S
    cuts_s = np.concatenate([hours_s, curve.edges_s])
    edges_s = np.unique(np.clip(cuts_s, curve.start_s, curve.end_s))
    factors = np.maximum(1.0 + spread * random.standard_normal(len(hours_s)), 0.0)
    hour = np.searchsorted(hours_s, edges_s[:-1], side="right") - 1
    prices = curve.price_at(edges_s[:-1]) * factors[hour]
    return PriceCurve.piecewise(
        edges_s, [None if np.isnan(price) else Decimal(price) for price in prices.tolist()]
    )
