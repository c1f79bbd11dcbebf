"""What energy costs over time."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct


class Period(Struct, frozen=True):
    """Hours of the week with one price."""

    name: str
    months: list[int]
    weekdays: list[int]
    from_minute: int
    to_minute: int
    price_per_kwh: Decimal
    demand_charge_per_kw: Decimal | None


class Tariff(Struct, frozen=True):
    """What energy costs over time."""

    id: int
    name: str
    kind: str
    currency: str
    price_per_kwh: Decimal | None
    timezone: str
    periods: list[Period]
    demand_charge_per_kw: Decimal
    covers_from_at: datetime | None
    covers_until_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


class Price(Struct, frozen=True):
    """A stretch of time with one price."""

    from_at: datetime
    until_at: datetime
    price_per_kwh: Decimal | None


class Prices(Struct, frozen=True):
    """Prices of a span of time."""

    currency: str
    from_at: datetime
    until_at: datetime
    prices: list[Price]


class Imported(Struct, frozen=True):
    """How many hours were stored, and what is covered now."""

    hours: int
    column: str
    covers_from_at: datetime
    covers_until_at: datetime
