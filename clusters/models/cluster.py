"""A cluster is one scheduling domain, sliced logically by partitions, physically by racks."""

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique
from rest.names import SLUG

_BAD_NAME = "Lower-case letters, digits and inner dashes, at most 63."
_NAME_TAKEN = "Another row has this name; choose another."


class Cluster(models.Model):
    explained = {
        "clusters_cluster_tariff_of_currency": ConstraintRule(
            "currency_mismatch", "/currency", "A cluster and its tariff reckon in one currency."
        )
    }

    class EnergyPeriod(models.TextChoices):
        DAY = "day"
        MONTH = "month"

    name = models.TextField(unique=True)
    policy = models.TextField(default="fifo-backfill")
    policy_parameters = models.JSONField(default=dict)
    shadow_policy = models.TextField(null=True)
    shadow_parameters = models.JSONField(default=dict)
    round_interval_s = models.IntegerField(default=30)
    next_round_at = models.DateTimeField(db_default=Now())
    pue = models.DecimalField(max_digits=4, decimal_places=2, default=Decimal(1))
    power_budget_w = models.IntegerField(null=True)
    # What may be drawn in every day or month, PUE included; these begin at the tariff's midnight.
    energy_budget_wh = models.BigIntegerField(null=True)
    energy_period = models.TextField(choices=EnergyPeriod, null=True)
    currency = models.TextField(default="EUR")
    tariff = models.ForeignKey("tariffs.Tariff", models.PROTECT, null=True)
    carbon_series = models.ForeignKey("tariffs.CarbonSeries", models.PROTECT, null=True)
    # Set while most nodes are silent at once: then none of them is marked lost.
    brake_since_at = models.DateTimeField(null=True)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            Check(
                condition=Q(name__regex=SLUG),
                name="cluster_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
            Check(
                condition=Q(round_interval_s__range=(1, 3600)),
                name="cluster_round_interval",
                violation_error_code="out_of_range",
                violation_error_message="Rounds are 1 to 3600 seconds apart.",
            ),
            Check(
                condition=Q(pue__range=(1, 10)),
                name="cluster_pue",
                violation_error_code="out_of_range",
                violation_error_message="A PUE lies between 1 and 10.",
            ),
            Check(
                condition=Q(power_budget_w__isnull=True) | Q(power_budget_w__gt=0),
                name="cluster_power_budget",
                violation_error_code="out_of_range",
                violation_error_message="A power budget is positive.",
            ),
            Check(
                condition=Q(energy_budget_wh__isnull=True) | Q(energy_budget_wh__gt=0),
                name="cluster_energy_budget",
                violation_error_code="out_of_range",
                violation_error_message="An energy budget is positive.",
            ),
            Check(
                condition=Q(energy_budget_wh__isnull=True, energy_period__isnull=True)
                | Q(
                    energy_budget_wh__isnull=False,
                    energy_period__isnull=False,
                    energy_period__in=("day", "month"),
                ),
                name="cluster_energy_period",
                pointer="/energy_period",
                violation_error_code="half_a_budget",
                violation_error_message="Give energy_budget_wh and energy_period, "
                "day or month, or neither.",
            ),
            Check(
                condition=Q(currency__regex=r"^[A-Z]{3}$"),
                name="cluster_currency",
                violation_error_code="bad_currency",
                violation_error_message="Three capital letters, as in EUR.",
            ),
        )
        indexes = (models.Index(fields=["next_round_at"], name="cluster_due"),)

    def __str__(self) -> str:
        return self.name


class Watch(models.Model):
    """One row: when the watch over silent nodes last looked, and since when without pause."""

    watched_at = models.DateTimeField()
    resumed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "watches"
        constraints = (
            Check(
                condition=Q(id=1),
                name="watch_is_one_row",
                pointer="",
                violation_error_code="conflict",
                violation_error_message="There is one watch over silent nodes.",
            ),
        )

    def __str__(self) -> str:
        return f"watching since {self.resumed_at}"


class Partition(models.Model):
    """A logical slice; one that lends lets others use its GPUs until its own jobs want them."""

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    name = models.TextField()
    lends = models.BooleanField(default=False)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            Unique(
                fields=["cluster", "name"],
                name="partition_name_taken",
                violation_error_code="name_taken",
                violation_error_message=_NAME_TAKEN,
            ),
            # The target of composite keys: what names a partition must name its cluster too.
            Unique(
                fields=["id", "cluster"],
                name="partition_of_cluster",
                pointer="/id",
                violation_error_code="conflict",
                violation_error_message="This partition exists already.",
            ),
            Check(
                condition=Q(name__regex=SLUG),
                name="partition_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
        )

    def __str__(self) -> str:
        return self.name


class Switch(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE)
    name = models.TextField()
    version = models.BigIntegerField(default=1)

    class Meta:
        verbose_name_plural = "switches"
        constraints = (
            Unique(
                fields=["cluster", "name"],
                name="switch_name_taken",
                violation_error_code="name_taken",
                violation_error_message=_NAME_TAKEN,
            ),
            Unique(
                fields=["id", "cluster"],
                name="switch_of_cluster",
                pointer="/id",
                violation_error_code="conflict",
                violation_error_message="This switch exists already.",
            ),
            Check(
                condition=Q(name__regex=SLUG),
                name="switch_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
        )

    def __str__(self) -> str:
        return self.name


class Rack(models.Model):
    explained = {
        "clusters_rack_switch_of_cluster": ConstraintRule(
            "unknown_switch",
            "/switch",
            "A rack hangs on a switch of its own cluster, and a switch with racks stays.",
        )
    }

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    switch = models.ForeignKey(Switch, models.PROTECT, null=True, db_constraint=False)
    name = models.TextField()
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            Unique(
                fields=["cluster", "name"],
                name="rack_name_taken",
                violation_error_code="name_taken",
                violation_error_message=_NAME_TAKEN,
            ),
            Unique(
                fields=["id", "cluster"],
                name="rack_of_cluster",
                pointer="/id",
                violation_error_code="conflict",
                violation_error_message="This rack exists already.",
            ),
            Check(
                condition=Q(name__regex=SLUG),
                name="rack_name_is_slug",
                violation_error_code="bad_name",
                violation_error_message=_BAD_NAME,
            ),
        )

    def __str__(self) -> str:
        return self.name
