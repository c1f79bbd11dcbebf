"""Quantities as people read them."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone

MJ_PER_KWH = 3_600_000_000
UNKNOWN = "\N{EN DASH}"


def watts(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / 1000:,.1f} kW" if value >= 10_000 else f"{value:,.0f} W"


def energy(kilowatt_hours: Decimal | float | None) -> str:
    """In the unit in which it is neither a fraction nor a long number."""
    if kilowatt_hours is None:
        return UNKNOWN
    value = float(kilowatt_hours)
    if abs(value) >= 10_000:
        return f"{value / 1000:,.1f} MWh"
    if 0 < abs(value) < 1:
        return f"{value * 1000:,.0f} Wh" if abs(value) >= 0.01 else f"{value * 1000:.2f} Wh"
    return f"{value:,.1f} kWh"


def kwh(millijoules: float | None) -> str:
    return UNKNOWN if millijoules is None else energy(float(millijoules) / MJ_PER_KWH)


def wh(watt_hours: float | None) -> str:
    return UNKNOWN if watt_hours is None else energy(float(watt_hours) / 1000)


def mass(grams: Decimal | float | None) -> str:
    if grams is None:
        return UNKNOWN
    value = float(grams)
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:,.1f} t"
    return f"{value / 1000:,.1f} kg" if abs(value) >= 1000 else f"{value:,.0f} g"


def money(value: Decimal | float | None, currency: str = "") -> str:
    if value is None:
        return UNKNOWN
    places = 2 if abs(float(value)) >= 1 or value == 0 else 4
    return f"{value:,.{places}f} {currency}".strip()


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def number(value: float | None, places: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:,.{places}f}"


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


def since(now: datetime, at: datetime | None) -> str:
    return UNKNOWN if at is None else length_of(max(now - at, timedelta(0)))


def moment(at: datetime | None) -> str:
    """To the second; in UTC, as every time of the service."""
    return UNKNOWN if at is None else f"{minute(at)}:{at:%S}"


def minute(at: datetime | None) -> str:
    """With the year only where it is another one."""
    if at is None:
        return UNKNOWN
    year = "" if at.year == timezone.now().year else f" {at.year}"
    return f"{at.day} {at:%b}{year} {at:%H:%M}"


def words(name: str) -> str:
    return str(name).replace("_", " ")
