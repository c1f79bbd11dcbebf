"""What is known of prices at a moment: what the market has published, as far as the horizon."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from policies.contract.snapshot import PriceTable
from policies.pricing.curve import FloatArray, IntArray, PriceCurve
from policies.pricing.tariff import HOUR_S
from policies.pricing.timezones import EPOCH

HORIZON_S = 2 * 86_400
"""How far ahead a round may look for a cheaper hour."""
BEHIND_S = 86_400
"""How far behind us prices still say what hours cost that nobody has published yet: a day."""
# Day-ahead auctions close at noon; their prices are out about three quarters of an hour later.
PUBLISHED_AFTER = timedelta(hours=12, minutes=45)


def published_until_s(now_s: float, timezone: str) -> int:
    """Where a day-ahead market's prices end: with today, and from 12:45 there on with tomorrow."""
    return _published(now_s, timezone)[0]


def next_published_s(now_s: float, timezone: str) -> float:
    """When the market publishes next, strictly later."""
    return _published(now_s, timezone)[1]


def seen_prices(
    price: PriceCurve,
    carbon: PriceCurve | None,
    now_s: float,
    *,
    believed: PriceCurve | None = None,
    market: str | None = None,
) -> PriceTable:
    """What a policy may see, from a day ago; the last row, without a price, ends what is known.

    `market` is the time zone of a day-ahead market whose prices these are; without one everything
    that the curve has is known. `believed` stands for hours that have not come yet.
    """
    shown = believed or price
    # By the hour: a table stays the same until something that matters has changed.
    until_s = int(now_s // HOUR_S) * HOUR_S + HORIZON_S
    if market is not None:
        until_s = min(until_s, published_until_s(now_s, market))
    until_s = min(until_s, shown.end_s)
    first = max(int(np.searchsorted(shown.edges_s, now_s, side="right")) - 1, 0)
    last = int(np.searchsorted(shown.edges_s[:-1], until_s))
    if first >= last:
        return PriceTable.unknown()
    now_from_s = shown.edges_s[first]
    over_s = int(min(now_from_s, now_s))
    gone_s, gone = _behind(price, int(now_s // HOUR_S) * HOUR_S - BEHIND_S, over_s)
    from_s = np.concatenate([gone_s, shown.edges_s[first:last], [until_s]]).astype(np.float64)
    seen = np.concatenate([gone, shown.prices[first:last], [np.nan]])
    if now_from_s <= now_s:
        seen[len(gone)] = price.price_at(now_s)
    grams = np.full(len(from_s), np.nan)
    if carbon is not None:
        at_s = from_s[:-1].copy()
        at_s[len(gone)] = max(at_s[len(gone)], now_s)
        grams[:-1] = carbon.price_at(at_s)
    return PriceTable.of(from_s=from_s, price_per_kwh=seen, carbon_g_per_kwh=grams)


def _behind(price: PriceCurve, since_s: int, until_s: int) -> tuple[IntArray, FloatArray]:
    """What hours cost that are over; nobody believes otherwise of them."""
    first = max(int(np.searchsorted(price.edges_s, since_s, side="right")) - 1, 0)
    last = int(np.searchsorted(price.edges_s[:-1], until_s))
    return np.maximum(price.edges_s[first:last], since_s), price.prices[first:last]


def _published(now_s: float, timezone: str) -> tuple[int, float]:
    """The end of what is published, and when more will be."""
    zone = ZoneInfo(timezone)
    local_at = (EPOCH + timedelta(seconds=now_s)).astimezone(zone)
    today_at = datetime(local_at.year, local_at.month, local_at.day)  # noqa: DTZ001  # of its wall
    due_at = (today_at + PUBLISHED_AFTER).replace(tzinfo=zone)
    out = due_at.timestamp() <= now_s
    next_at = due_at + timedelta(days=1) if out else due_at
    end_at = (today_at + timedelta(days=2 if out else 1)).replace(tzinfo=zone)
    return int(end_at.timestamp()), next_at.timestamp()
