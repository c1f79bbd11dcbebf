"""What energy costs and emits over time; policies/pricing/tariff.py evaluates it."""

from datetime import datetime
from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target
from rest.names import slug_name

# A CHECK in the migration says it, because Django's cannot.
_ON_THE_HOUR = ConstraintRule("not_on_the_hour", "/csv", "Hours start on full hours of UTC.")


class Tariff(models.Model):
    class Kind(models.TextChoices):
        FLAT = "flat"
        TIME_OF_USE = "time_of_use"
        HOURLY = "hourly"

    # The span of its hours, which the selector reads along; a row just made has none.
    covers_from_at: datetime | None = None
    covers_until_at: datetime | None = None

    name = models.TextField(unique=True)
    kind = models.TextField(choices=Kind)
    currency = models.TextField(default="EUR")
    price_per_kwh = models.DecimalField(max_digits=16, decimal_places=12, null=True)
    timezone = models.TextField(default="UTC")
    # Each {"months": [..], "weekdays": [..], "from_minute", "to_minute", "price_per_kwh",
    # "name"?, "demand_charge_per_kw"?}; the
    # whole list is checked at once, because only together can periods overlap or leave a hole.
    periods = models.JSONField(default=list)
    demand_charge_per_kw = models.DecimalField(max_digits=12, decimal_places=6, default=Decimal(0))
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # The target of a composite key: a cluster and its tariff reckon in one currency.
            composite_target("tariff", "currency"),
            slug_name("tariff"),
            Check(
                "tariff_kind",
                Q(kind__in=("flat", "time_of_use", "hourly")),
                "bad_kind: A tariff is flat, time_of_use or hourly.",
            ),
            Check(
                "tariff_flat_has_price",
                Q(kind="flat", price_per_kwh__isnull=False)
                | (~Q(kind="flat") & Q(price_per_kwh__isnull=True)),
                "not_of_this_kind: A flat tariff has one price, and no other kind has.",
                pointer="/price_per_kwh",
            ),
            Check(
                "tariff_currency",
                Q(currency__regex=r"^[A-Z]{3}$"),
                "bad_currency: Three capital letters, as in EUR.",
            ),
            Check(
                "tariff_demand_charge",
                Q(demand_charge_per_kw__gte=0),
                "out_of_range: A demand charge is not negative.",
            ),
        )

    def __str__(self) -> str:
        return self.name


class TariffHour(models.Model):
    explained = {"tariffs_tariffhour_on_the_hour": _ON_THE_HOUR}

    tariff = models.ForeignKey(Tariff, models.CASCADE)
    starts_at = models.DateTimeField()
    price_per_kwh = models.DecimalField(max_digits=16, decimal_places=12)

    class Meta:
        constraints = (
            Unique(
                "tariff_hour_once",
                ["tariff", "starts_at"],
                "duplicated_hour: An hour has one price.",
                pointer="/csv",
            ),
        )

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H} {self.price_per_kwh}"


class CarbonSeries(models.Model):
    # The span of its hours, which the selector reads along; a row just made has none.
    covers_from_at: datetime | None = None
    covers_until_at: datetime | None = None

    name = models.TextField(unique=True)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "carbon series"
        constraints = (slug_name("carbon"),)

    def __str__(self) -> str:
        return self.name


class CarbonHour(models.Model):
    explained = {"tariffs_carbonhour_on_the_hour": _ON_THE_HOUR}

    series = models.ForeignKey(CarbonSeries, models.CASCADE)
    starts_at = models.DateTimeField()
    g_per_kwh = models.DecimalField(max_digits=9, decimal_places=3)

    class Meta:
        constraints = (
            Unique(
                "carbon_hour_once",
                ["series", "starts_at"],
                "duplicated_hour: An hour has one value.",
                pointer="/csv",
            ),
            Check(
                "carbon_not_negative",
                Q(g_per_kwh__gte=0),
                "out_of_range: Carbon intensity is not negative.",
                pointer="/csv",
            ),
        )

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H} {self.g_per_kwh}"
