"""Quantities as people read them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django import template

register = template.Library()

MJ_PER_KWH = 3_600_000_000
UNKNOWN = "-"


@register.filter
def watts(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / 1000:,.1f} kW" if value >= 10_000 else f"{value:,.0f} W"


@register.filter
def kwh(millijoules: float | None) -> str:
    return UNKNOWN if millijoules is None else f"{float(millijoules) / MJ_PER_KWH:,.3f} kWh"


@register.filter
def money(value: Decimal | float | None, currency: str = "") -> str:
    if value is None:
        return UNKNOWN
    places = 2 if abs(float(value)) >= 1 or value == 0 else 4
    return f"{value:,.{places}f} {currency}".strip()


@register.filter
def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


@register.filter
def number(value: float | None, places: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:,.{places}f}"


@register.filter
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


@register.filter
def since(now: datetime, at: datetime | None) -> str:
    return UNKNOWN if at is None else length_of(max(now - at, timedelta(0)))


@register.filter
def moment(at: datetime | None) -> str:
    """In UTC, as every time of the service."""
    return UNKNOWN if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


@register.filter
def words(name: str) -> str:
    return str(name).replace("_", " ")


@register.filter
def entry(mapping: dict[Any, Any], key: Any) -> Any:
    return mapping.get(key)
