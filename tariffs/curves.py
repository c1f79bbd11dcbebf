"""Stored tariffs and carbon series as the pure code in policies/pricing evaluates them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from django.db.models import QuerySet

from policies.pricing import tariff as pure
from policies.pricing.curve import IntArray, PriceCurve
from policies.pricing.periods import PricePeriod
from policies.pricing.published import BEHIND_S, HORIZON_S
from tariffs.models import CarbonHour, Tariff, TariffHour

HORIZON = timedelta(seconds=HORIZON_S)


class Priced(Protocol):
    """What has a tariff and a carbon series, as clusters do."""

    tariff: Tariff | None
    carbon_series_id: int | None


Curves = tuple[PriceCurve | None, PriceCurve | None]


def price_curves(priced: Priced, *, now: datetime) -> Curves:
    """Price and carbon from a day ago to the horizon; None where there is neither."""
    now_s = int(now.timestamp())
    return curves_between(priced, now_s - BEHIND_S, now_s + HORIZON_S)


def curves_between(priced: Priced, start_s: int, end_s: int) -> Curves:
    price = carbon = None
    if priced.tariff is not None:
        price = pure_tariff(priced.tariff, start_s, end_s).curve(start_s, end_s)
    if priced.carbon_series_id is not None:
        hours = CarbonHour.objects.filter(series=priced.carbon_series_id)
        series = _series(hours, "g_per_kwh", start_s, end_s)
        carbon = pure.CarbonIntensity(*series).curve(start_s, end_s)
    return price, carbon


def pure_tariff(tariff: Tariff, start_s: int, end_s: int) -> pure.Tariff:
    """The tariff as far as it matters between two times; only hourly ones read further rows."""
    if tariff.kind == Tariff.Kind.HOURLY:
        hours = TariffHour.objects.filter(tariff=tariff)
        return pure.HourlyTariff(*_series(hours, "price_per_kwh", start_s, end_s))
    if tariff.kind == Tariff.Kind.TIME_OF_USE:
        periods = tuple(period_from_json(period) for period in tariff.periods)
        return pure.TimeOfUseTariff(periods, tariff.timezone, tariff.demand_charge_per_kw)
    if tariff.price_per_kwh is None:
        raise ValueError("a flat tariff has a price; the table's CHECK says so")
    return pure.FlatTariff(tariff.price_per_kwh, tariff.demand_charge_per_kw)


def period_from_json(period: dict[str, Any]) -> PricePeriod:
    charge = period.get("demand_charge_per_kw")
    return PricePeriod(
        months=frozenset(period["months"]),
        weekdays=frozenset(period["weekdays"]),
        from_minute=period["from_minute"],
        to_minute=period["to_minute"],
        price_per_kwh=Decimal(str(period["price_per_kwh"])),
        name=period.get("name", ""),
        demand_charge_per_kw=None if charge is None else Decimal(str(charge)),
    )


def _series(
    hours: QuerySet[Any], value: str, start_s: int, end_s: int
) -> tuple[IntArray, tuple[Decimal, ...]]:
    first, last = datetime.fromtimestamp(start_s - 3600, UTC), datetime.fromtimestamp(end_s, UTC)
    rows = list(
        hours.filter(starts_at__gt=first, starts_at__lt=last)
        .order_by("starts_at")
        .values_list("starts_at", value)
    )
    starts_s = np.array([int(starts_at.timestamp()) for starts_at, _ in rows], np.int64)
    return starts_s, tuple(price for _, price in rows)
