"""The prices a policy may see at a moment: what the tariff says of the two days ahead."""

import numpy as np

from policies.snapshot import Prices
from simulator.setting import Setting

HORIZON_S = 2 * 86_400


class PriceView:
    """Rebuilt only when another price has come into force."""

    def __init__(self, setting: Setting) -> None:
        self._curve, self._carbon = setting.price, setting.carbon
        self._prices = Prices.unknown()
        self._good_until_s = -np.inf if self._curve is not None else np.inf

    def at(self, now_s: float) -> Prices:
        curve = self._curve
        if curve is None or now_s < self._good_until_s:
            return self._prices
        first = max(int(np.searchsorted(curve.edges_s, now_s, side="right")) - 1, 0)
        last = int(np.searchsorted(curve.edges_s[:-1], now_s + HORIZON_S))
        from_s = curve.edges_s[:-1][first:last].astype(np.float64)
        grams = np.nan if self._carbon is None else self._carbon.price_at(from_s)
        self._prices = Prices.of(
            from_s=from_s,
            price_per_kwh=curve.prices[first:last],
            carbon_g_per_kwh=np.broadcast_to(grams, from_s.shape),
        )
        self._good_until_s = float(curve.next_change(now_s))
        return self._prices
