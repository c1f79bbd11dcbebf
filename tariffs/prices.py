"""The curve of a tariff between two moments, for people to look at."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tariffs.curves import HORIZON, pure_tariff
from tariffs.models import Tariff

# A year of hours is the longest answer.
LONGEST = timedelta(days=366)
# The years in which the time zone data and the hourly series are to be trusted.
EARLIEST_AT, LATEST_AT = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class PriceSpan:
    """Constant price; None where none is known."""

    from_at: datetime
    until_at: datetime
    price_per_kwh: Decimal | None


@dataclass(frozen=True)
class PricesBetween:
    currency: str
    from_at: datetime
    until_at: datetime
    prices: list[PriceSpan]


def tariff_prices(
    tariff: Tariff, *, now: datetime, from_at: datetime | None, until_at: datetime | None
) -> PricesBetween:
    """From now on for as far as a round looks ahead, unless asked otherwise; whole seconds."""
    start = _within(from_at or now)
    end = _within(until_at or min(start, LATEST_AT - HORIZON) + HORIZON)
    end = max(start, min(end, min(start, LATEST_AT - LONGEST) + LONGEST))
    start_s, end_s = int(start.timestamp()), int(end.timestamp())
    spans = []
    if start_s < end_s:
        curve = pure_tariff(tariff, start_s, end_s).curve(start_s, end_s)
        spans = [PriceSpan(_at(a), _at(b), price) for a, b, price in curve.windows(start_s, end_s)]
    return PricesBetween(tariff.currency, _at(start_s), _at(end_s), spans)


def _within(at: datetime) -> datetime:
    return min(max(at, EARLIEST_AT), LATEST_AT)


def _at(time_s: float) -> datetime:
    return datetime.fromtimestamp(time_s, UTC)
