"""The prices a policy may see at a moment: what is known, or believed, of the two days ahead."""

from decimal import Decimal

import numpy as np

from policies.contract.snapshot import PriceTable
from policies.pricing.curve import PriceCurve
from policies.pricing.published import next_published_s, seen_prices
from policies.pricing.tariff import HOUR_S
from simulator.setting import Setting


class PriceView:
    """Rebuilt only when another price has come into force, another hour or more was published."""

    def __init__(self, setting: Setting) -> None:
        self._curve, self._carbon = setting.price, setting.carbon
        self._believed, self._market = setting.believed_price, setting.market_timezone
        self._prices = PriceTable.unknown()
        self._good_until_s = -np.inf if self._curve is not None else np.inf

    def at(self, now_s: float) -> PriceTable:
        curve = self._curve
        if curve is None or now_s < self._good_until_s:
            return self._prices
        self._prices = seen_prices(
            curve, self._carbon, now_s, believed=self._believed, market=self._market
        )
        changes_s = [float(curve.next_change(now_s)), (now_s // HOUR_S + 1) * HOUR_S]
        if self._believed is not None:
            changes_s.append(float(self._believed.next_change(now_s)))
        if self._market is not None:
            changes_s.append(next_published_s(now_s, self._market))
        self._good_until_s = min(changes_s)
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
