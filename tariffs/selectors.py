"""Reads of tariffs, carbon series and their hours; every tenant may look at them."""

from datetime import timedelta
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery

from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour


def tariffs() -> QuerySet[Tariff]:
    """With the span that an hourly one's hours cover."""
    hours = TariffHour.objects.filter(tariff=OuterRef("pk"))
    return Tariff.objects.annotate(**_covers(hours))


def tariff_hours(tariff_id: int) -> QuerySet[TariffHour]:
    return TariffHour.objects.filter(tariff=tariff_id)


def carbon_series() -> QuerySet[CarbonSeries]:
    """With the span that its hours cover."""
    hours = CarbonHour.objects.filter(series=OuterRef("pk"))
    return CarbonSeries.objects.annotate(**_covers(hours))


def carbon_hours(series_id: int) -> QuerySet[CarbonHour]:
    return CarbonHour.objects.filter(series=series_id)


def _covers(hours: QuerySet[Any]) -> dict[str, Subquery]:
    """Two look-ups in the index of hours, however many there are."""
    ends = hours.annotate(ends_at=F("starts_at") + timedelta(hours=1))
    return {
        "covers_from_at": Subquery(hours.order_by("starts_at").values("starts_at")[:1]),
        "covers_until_at": Subquery(ends.order_by("-starts_at").values("ends_at")[:1]),
    }
