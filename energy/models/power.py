"""Watts that a cluster or partition may draw, what it was measured to draw, and where it broke."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique

DAY_MINUTES = 1440
_NO_PARTITION = ConstraintRule("unknown_partition", "", "The partition is gone.")


class PowerBudget(models.Model):
    """A window with an upper bound of watts; of all that are in force the smallest counts.

    With `from_minute` and `to_minute` it holds only at that time of every day, in `timezone`; a
    span that ends before it begins runs over midnight.
    """

    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE)
    # (partition, cluster) is a composite key made in the migration.
    partition = models.ForeignKey(
        "clusters.Partition", models.CASCADE, null=True, db_constraint=False
    )
    watts = models.IntegerField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    from_minute = models.SmallIntegerField(null=True)
    to_minute = models.SmallIntegerField(null=True)
    timezone = models.TextField(default="UTC")
    reason = models.TextField(default="")
    # Who ordered it; the audit has the rest.
    ordered_by = models.TextField(default="")
    # What was estimated when it was ordered: see whatif/budget_response.py.
    estimate = models.JSONField(null=True)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    explained: ClassVar = {
        "energy_powerbudget_partition_of_cluster": ConstraintRule(
            "unknown_partition", "/partition", "A budget is for a partition of its own cluster."
        )
    }

    class Meta:
        constraints = (
            Check(
                "power_budget_watts", Q(watts__gt=0), "out_of_range: A power budget is positive."
            ),
            Check(
                "power_budget_window",
                Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                "window_over: A window ends after its start.",
            ),
            Check(
                "power_budget_daily",
                Q(from_minute__isnull=True, to_minute__isnull=True)
                | Q(
                    from_minute__isnull=False,
                    to_minute__isnull=False,
                    from_minute__range=(0, DAY_MINUTES - 1),
                    to_minute__range=(0, DAY_MINUTES - 1),
                )
                & ~Q(from_minute=F("to_minute")),
                "half_a_day: Give two different minutes of the day, or none.",
                pointer="/to_minute",
            ),
        )
        indexes = (models.Index(fields=["cluster", "-id"], name="power_budget_by_cluster"),)

    def __str__(self) -> str:
        return f"{self.watts} W from {self.starts_at:%Y-%m-%d %H:%M}"


class PowerState(models.Model):
    """The last look at what a cluster, or one of its partitions, draws against its budget.

    `correction_w` is by how much the model of rounds has been found too low; rounds plan with so
    much less.
    """

    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE)
    partition = models.ForeignKey(
        "clusters.Partition", models.CASCADE, null=True, db_constraint=False
    )
    # Null: none is in force. What rounds plan with is in force a little earlier.
    budget_w = models.FloatField(null=True)
    planned_w = models.FloatField(null=True)
    # Mean of the minute that ended at `measured_at`; hosts are estimated.
    measured_w = models.FloatField(null=True)
    measured_at = models.DateTimeField(null=True)
    unread_gpus = models.IntegerField(default=0)
    correction_w = models.FloatField(default=0)
    corrected_at = models.DateTimeField(null=True)
    # Of the whole cluster, if it has an energy budget: what was drawn from the beginning of its
    # period until `energy_counted_at`, PUE included.
    energy_from_at = models.DateTimeField(null=True)
    energy_counted_at = models.DateTimeField(null=True)
    energy_drawn_j = models.FloatField(default=0)
    # Of the whole cluster, if its tariff charges for demand: the month and the terms that the peaks
    # are of, until when they were counted, and the peaks, PUE included (policies/pricing/peak.py).
    demand_month = models.TextField(default="")
    demand_counted_at = models.DateTimeField(null=True)
    demand_peaks_w = ArrayField(models.FloatField(), default=list)

    explained: ClassVar = {"energy_powerstate_partition_of_cluster": _NO_PARTITION}

    class Meta:
        constraints = (
            Unique(
                "power_state_once",
                ["cluster", "partition"],
                "conflict: There is one state per cluster and partition.",
                nulls_distinct=False,
                pointer="",
            ),
            Check(
                "power_correction_lowers",
                Q(correction_w__gte=0),
                "out_of_range: A correction is not negative.",
                pointer="",
            ),
            Check(
                "power_energy_counted",
                Q(energy_from_at__isnull=True, energy_counted_at__isnull=True)
                | Q(
                    energy_from_at__isnull=False,
                    energy_counted_at__isnull=False,
                    energy_counted_at__gte=F("energy_from_at"),
                ),
                "out_of_range: Energy is counted from its period's start on.",
                pointer="",
            ),
            Check(
                "power_energy_drawn",
                Q(energy_drawn_j__gte=0),
                "out_of_range: Energy that was drawn is not negative.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"{self.measured_w} W of {self.budget_w} W"


class PowerBreach(models.Model):
    """A stretch in which the mean of the last minute lay above the budget; open while it does."""

    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE)
    partition = models.ForeignKey(
        "clusters.Partition", models.CASCADE, null=True, db_constraint=False
    )
    budget_w = models.FloatField()
    worst_w = models.FloatField()
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    explained: ClassVar = {"energy_powerbreach_partition_of_cluster": _NO_PARTITION}

    class Meta:
        verbose_name_plural = "power breaches"
        constraints = (
            Unique(
                "one_open_breach",
                ["cluster", "partition"],
                "conflict: One breach of a cluster or partition is open at a time.",
                nulls_distinct=False,
                condition=Q(ended_at__isnull=True),
                pointer="",
            ),
            Check(
                "power_breach_is_above",
                Q(worst_w__gt=F("budget_w")),
                "out_of_range: A breach lies above its budget.",
                pointer="",
            ),
        )
        indexes = (models.Index(fields=["cluster", "-id"], name="power_breach_by_cluster"),)

    def __str__(self) -> str:
        return f"{self.worst_w:.0f} W of {self.budget_w:.0f} W"
