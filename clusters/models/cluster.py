"""A cluster is one scheduling domain, sliced logically by partitions, physically by racks."""

from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target
from rest.names import slug_name


def _named_in_cluster(of: str) -> tuple[models.constraints.BaseConstraint, ...]:
    says = "name_taken: Another row has this name; choose another."
    taken = Unique(f"{of}_name_taken", ["cluster", "name"], says)
    return taken, composite_target(of, "cluster"), slug_name(of)


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
    # Whether policies may switch off nodes, and how long those must have been ready and empty.
    power_off = models.BooleanField(default=False)
    min_idle_s = models.IntegerField(default=600)
    # Whether a node is one tenant's at a time, also where walls could keep several apart.
    exclusive = models.BooleanField(default=False)
    # Whether attempts may use the network.
    network = models.BooleanField(default=True)
    currency = models.TextField(default="EUR")
    # The most that tenants may name for an hour of lateness, unless an operator lets one name more
    # or less: what fairwatt takes any hour of a job to be worth.
    max_tardiness_price_per_h = models.DecimalField(
        max_digits=14, decimal_places=6, default=Decimal("0.1")
    )
    tariff = models.ForeignKey("tariffs.Tariff", models.PROTECT, null=True)
    carbon_series = models.ForeignKey("tariffs.CarbonSeries", models.PROTECT, null=True)
    # Set while most nodes are silent at once: then none of them is marked lost.
    brake_since_at = models.DateTimeField(null=True)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            slug_name("cluster"),
            Check(
                "cluster_round_interval",
                Q(round_interval_s__range=(1, 3600)),
                "out_of_range: Rounds are 1 to 3600 seconds apart.",
            ),
            Check(
                "cluster_pue", Q(pue__range=(1, 10)), "out_of_range: A PUE lies between 1 and 10."
            ),
            Check(
                "cluster_power_budget",
                Q(power_budget_w__isnull=True) | Q(power_budget_w__gt=0),
                "out_of_range: A power budget is positive.",
            ),
            Check(
                "cluster_energy_budget",
                Q(energy_budget_wh__isnull=True) | Q(energy_budget_wh__gt=0),
                "out_of_range: An energy budget is positive.",
            ),
            Check(
                "cluster_energy_period",
                Q(energy_budget_wh__isnull=True, energy_period__isnull=True)
                | Q(
                    energy_budget_wh__isnull=False,
                    energy_period__isnull=False,
                    energy_period__in=("day", "month"),
                ),
                "half_a_budget: Give energy_budget_wh and energy_period, day or month, or neither.",
                pointer="/energy_period",
            ),
            Check(
                "cluster_min_idle",
                Q(min_idle_s__range=(0, 7 * 86_400)),
                "out_of_range: Nodes idle for 0 seconds to a week before they go off.",
            ),
            Check(
                "cluster_max_tardiness_price",
                Q(max_tardiness_price_per_h__gte=0),
                "out_of_range: The most for an hour of lateness is not negative.",
            ),
            Check(
                "cluster_currency",
                Q(currency__regex=r"^[A-Z]{3}$"),
                "bad_currency: Three capital letters, as in EUR.",
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
                "watch_is_one_row",
                Q(id=1),
                "conflict: There is one watch over silent nodes.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"watching since {self.resumed_at}"


class WatchPause(models.Model):
    """A stretch in which nobody watched over silent nodes: it counts against none of them."""

    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()

    class Meta:
        constraints = (
            Check(
                "watch_pause_ends",
                Q(ended_at__gt=F("began_at")),
                "conflict: A pause ends after it began.",
                pointer="",
            ),
        )
        indexes = (models.Index(fields=["ended_at"], name="watch_pause_ended"),)

    def __str__(self) -> str:
        return f"{self.began_at} to {self.ended_at}"


class Partition(models.Model):
    """A logical slice; one that lends lets others use its GPUs until its own jobs want them."""

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    name = models.TextField()
    lends = models.BooleanField(default=False)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = _named_in_cluster("partition")

    def __str__(self) -> str:
        return self.name


class Switch(models.Model):
    cluster = models.ForeignKey(Cluster, models.CASCADE)
    name = models.TextField()
    version = models.BigIntegerField(default=1)

    class Meta:
        verbose_name_plural = "switches"
        constraints = _named_in_cluster("switch")

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
        constraints = _named_in_cluster("rack")

    def __str__(self) -> str:
        return self.name
