"""What energy costs and emits over time; policies/pricing/tariff.py evaluates it."""

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.names import SLUG

# Every row of an hourly series starts on a full UTC hour; a CHECK says so in the migration.


class Tariff(models.Model):
    class Kind(models.TextChoices):
        FLAT = "flat"
        TIME_OF_USE = "time_of_use"
        HOURLY = "hourly"

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
            models.UniqueConstraint(fields=["id", "currency"], name="tariff_of_currency"),
            models.CheckConstraint(condition=Q(name__regex=SLUG), name="tariff_name_is_slug"),
            models.CheckConstraint(
                condition=Q(kind__in=("flat", "time_of_use", "hourly")), name="tariff_kind"
            ),
            models.CheckConstraint(
                condition=Q(kind="flat", price_per_kwh__isnull=False)
                | (~Q(kind="flat") & Q(price_per_kwh__isnull=True)),
                name="tariff_flat_has_price",
            ),
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"), name="tariff_currency"
            ),
            models.CheckConstraint(
                condition=Q(demand_charge_per_kw__gte=0), name="tariff_demand_charge"
            ),
        )

    def __str__(self) -> str:
        return self.name


class TariffHour(models.Model):
    tariff = models.ForeignKey(Tariff, models.CASCADE)
    starts_at = models.DateTimeField()
    price_per_kwh = models.DecimalField(max_digits=16, decimal_places=12)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tariff", "starts_at"], name="tariff_hour_once"),
        )

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H} {self.price_per_kwh}"


class CarbonSeries(models.Model):
    name = models.TextField(unique=True)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "carbon series"
        constraints = (
            models.CheckConstraint(condition=Q(name__regex=SLUG), name="carbon_name_is_slug"),
        )

    def __str__(self) -> str:
        return self.name


class CarbonHour(models.Model):
    series = models.ForeignKey(CarbonSeries, models.CASCADE)
    starts_at = models.DateTimeField()
    g_per_kwh = models.DecimalField(max_digits=9, decimal_places=3)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["series", "starts_at"], name="carbon_hour_once"),
            models.CheckConstraint(condition=Q(g_per_kwh__gte=0), name="carbon_not_negative"),
        )

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H} {self.g_per_kwh}"
