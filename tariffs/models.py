"""What energy costs and emits over time; policies/pricing/tariff.py evaluates it."""

from datetime import datetime
from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique
from rest.names import SLUG

_BAD_NAME = "Lower-case letters, digits and inner dashes, at most 63."
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
            Unique(
                fields=["id", "currency"],
                name="tariff_of_currency",
                pointer="/id",
                violation_error_code="conflict",
                violation_error_message="This tariff exists already.",
            ),
            Check(
                condition=Q(name__regex=SLUG),
                name="tariff_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
            Check(
                condition=Q(kind__in=("flat", "time_of_use", "hourly")),
                name="tariff_kind",
                violation_error_code="bad_kind",
                violation_error_message="A tariff is flat, time_of_use or hourly.",
            ),
            Check(
                condition=Q(kind="flat", price_per_kwh__isnull=False)
                | (~Q(kind="flat") & Q(price_per_kwh__isnull=True)),
                name="tariff_flat_has_price",
                pointer="/price_per_kwh",
                violation_error_code="not_of_this_kind",
                violation_error_message="A flat tariff has one price, and no other kind has.",
            ),
            Check(
                condition=Q(currency__regex=r"^[A-Z]{3}$"),
                name="tariff_currency",
                violation_error_code="bad_currency",
                violation_error_message="Three capital letters, as in EUR.",
            ),
            Check(
                condition=Q(demand_charge_per_kw__gte=0),
                name="tariff_demand_charge",
                violation_error_code="out_of_range",
                violation_error_message="A demand charge is not negative.",
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
                fields=["tariff", "starts_at"],
                name="tariff_hour_once",
                pointer="/csv",
                violation_error_code="duplicated_hour",
                violation_error_message="An hour has one price.",
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
        constraints = (
            Check(
                condition=Q(name__regex=SLUG),
                name="carbon_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
        )

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
                fields=["series", "starts_at"],
                name="carbon_hour_once",
                pointer="/csv",
                violation_error_code="duplicated_hour",
                violation_error_message="An hour has one value.",
            ),
            Check(
                condition=Q(g_per_kwh__gte=0),
                name="carbon_not_negative",
                pointer="/csv",
                violation_error_code="out_of_range",
                violation_error_message="Carbon intensity is not negative.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H} {self.g_per_kwh}"
