"""Quantities as people read them."""

from datetime import timedelta
from decimal import Decimal

MJ_PER_KWH = 3_600_000_000
UNKNOWN = "-"


def watts(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / 1000:,.1f} kW" if value >= 10_000 else f"{value:,.0f} W"


def kwh(millijoules: float | None) -> str:
    return UNKNOWN if millijoules is None else f"{float(millijoules) / MJ_PER_KWH:,.3f} kWh"


def money(value: Decimal | float | None, currency: str = "") -> str:
    if value is None:
        return UNKNOWN
    places = 2 if abs(float(value)) >= 1 or value == 0 else 4
    return f"{value:,.{places}f} {currency}".strip()


def length_of(value: timedelta | float | None) -> str:
    """A stretch of time in its two largest units."""
    if value is None:
        return UNKNOWN
    left = int(value.total_seconds() if isinstance(value, timedelta) else value)
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
