"""The same cluster under a tariff without hours: its mean price, and nothing for the peak."""

from dataclasses import replace

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import Snapshot


def flat_price(snapshot: Snapshot) -> Snapshot:
    """What nobody would wait for a better hour in."""
    prices = snapshot.prices
    if not len(prices):
        return replace(snapshot, demand_price_per_w=0.0)
    first = max(int(np.searchsorted(prices.from_s, snapshot.now_s, side="right")) - 1, 0)
    even = replace(
        prices,
        price_per_kwh=_mean(prices.price_per_kwh, first),
        carbon_g_per_kwh=_mean(prices.carbon_g_per_kwh, first),
    )
    return replace(snapshot, prices=even, demand_price_per_w=0.0)


def _mean(values: F64, first: int) -> F64:
    known = values[first:][~np.isnan(values[first:])]
    return np.full(len(values), known.mean()) if len(known) else values
