"""One cell of an hourly series: the start of an hour, or its price or carbon intensity."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Context, Decimal

from policies.pricing.periods import PRICE_LIMIT, PRICE_PLACES
from policies.pricing.tariff import HOUR_S
from policies.pricing.timezones import EPOCH

EARLIEST_YEAR, LATEST_YEAR = 1970, 2199
LONGEST_NUMBER = 64
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
NON_FINITE = re.compile(r"[+-]?(s?nan\d*|inf(inity)?)", re.ASCII | re.IGNORECASE)
# Precise enough for LONGEST_NUMBER digits, so that only the last step below rounds.
EXACT = Context(prec=2 * LONGEST_NUMBER, rounding=ROUND_HALF_EVEN, traps=[])
PLACES = Decimal(1).scaleb(-PRICE_PLACES)


class HourlyCellError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Quantity:
    """What a series measures per kWh: the columns it is looked for in, best first, and bounds."""

    columns: tuple[str, ...]
    lowest: Decimal
    highest: Decimal


PRICE = Quantity(("price_per_kwh", "Price (USD/MWh)"), -PRICE_LIMIT, PRICE_LIMIT)
CARBON = Quantity(
    ("g_per_kwh", "Carbon Intensity gCO₂eq/kWh (LCA)"),
    Decimal(0),
    Decimal(10_000),
)


def read_start_s(text: str, zone: tzinfo | None) -> int:
    """UTC epoch seconds of an ISO 8601 time; one without an offset is read in zone."""
    try:
        written_at = datetime.fromisoformat(text)
    except ValueError:
        raise HourlyCellError("bad_time", f"{text[:40]!a} is not an ISO 8601 time.") from None
    if not EARLIEST_YEAR <= written_at.year <= LATEST_YEAR:
        message = f"The year must lie from {EARLIEST_YEAR} to {LATEST_YEAR}."
        raise HourlyCellError("out_of_range", message)
    starts_at = _localized(written_at, zone) if written_at.tzinfo is None else written_at
    starts_s = (starts_at - EPOCH).total_seconds()
    if starts_s % HOUR_S:
        raise HourlyCellError("not_on_the_hour", f"{text[:40]!a} does not start an hour of UTC.")
    return int(starts_s)


def _localized(naive_at: datetime, zone: tzinfo | None) -> datetime:
    if zone is None:
        message = "The time has no UTC offset; write one (or Z), or name the time zone."
        raise HourlyCellError("naive_time", message)
    first, second = (naive_at.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    before, after = first.utcoffset(), second.utcoffset()
    if before is None or after is None or before == after:
        return first
    happens = "does not exist" if before < after else "happens twice"
    message = f"{naive_at:%Y-%m-%d %H:%M} {happens} in {zone}; write the UTC offset."
    raise HourlyCellError("dst_jump", message)


def read_value(text: str, quantity: Quantity, *, per_mwh: bool) -> Decimal:
    """Per kWh, rounded to the places that are kept: published series carry float noise."""
    if NON_FINITE.fullmatch(text):
        raise HourlyCellError("non_finite", "NaN and Infinity are not values.")
    if len(text) > LONGEST_NUMBER or not NUMBER.fullmatch(text):
        raise HourlyCellError("bad_number", f"{text[:40]!a} is not a decimal number.")
    value = Decimal(text).scaleb(-3 if per_mwh else 0, context=EXACT)
    if not quantity.lowest <= value <= quantity.highest:
        message = f"Per kWh it must lie from {quantity.lowest} to {quantity.highest}."
        raise HourlyCellError("out_of_range", message)
    return value.quantize(PLACES, context=EXACT)
