"""What attempts drew: counters at both ends, and the ledger of joules and money."""

from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from rest.constraints import Check, ConstraintRule, Unique


class Meter(models.Model):
    """The stretch of one GPU's counter that belongs to an attempt.

    Stretches of one counter never overlap, so that what attempts drew, what was idle and what
    nobody saw add up to the counter.
    """

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    attempt = models.ForeignKey("jobs.Attempt", models.PROTECT, db_constraint=False, db_index=False)
    gpu = models.ForeignKey("clusters.Gpu", models.PROTECT, db_index=False)
    boot = models.ForeignKey("energy.Boot", models.PROTECT, db_index=False)
    start_mj = models.BigIntegerField()
    now_mj = models.BigIntegerField()
    integrated = models.BooleanField(default=False)
    # The node has reported the attempt's end: later readings are not its own.
    final = models.BooleanField(default=False)
    since_at = models.DateTimeField()
    until_at = models.DateTimeField()
    # Up to here the ledger stands: samples of earlier times may be gone.
    settled_at = models.DateTimeField(null=True)
    settled_mj = models.BigIntegerField(null=True)
    # When the ledger looks at it again; null: never.
    due_at = models.DateTimeField(null=True)

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The tenant has drawn energy."),
        "gpu": ConstraintRule("in_use", "", "An attempt was metered on the GPU."),
        "boot": ConstraintRule("in_use", "", "An attempt was metered in this boot."),
        "energy_meter_attempt_of_tenant": ConstraintRule(
            "attempt_gone", "", "The attempt is gone."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                "meter_once_per_gpu",
                ["attempt", "gpu"],
                "meter_exists: The attempt has a meter on the GPU.",
                pointer="",
            ),
            Check(
                "meter_rises",
                Q(start_mj__gte=0, now_mj__gte=F("start_mj")),
                "invalid_meter: A counter does not fall.",
                pointer="",
            ),
            Check(
                "meter_ends_after_start",
                Q(until_at__gte=F("since_at")),
                "invalid_meter: A meter is read last after it is read first.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["gpu", "boot"], name="meter_by_gpu"),
            models.Index(fields=["due_at"], name="meter_due", condition=Q(due_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} on gpu {self.gpu_id}"


class LedgerRow(models.Model):
    """Joules of one attempt on one GPU in one window of constant price; a trigger keeps it.

    A correction is a further row that holds the difference: the sum over rows of one attempt, GPU
    and window is what is owed. Rows of other terms than the true ones add up to zero.
    """

    class Method(models.TextChoices):
        COUNTER = "counter"
        INTEGRATED = "integrated"

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, db_index=False)
    attempt = models.ForeignKey("jobs.Attempt", models.PROTECT, db_constraint=False, db_index=False)
    gpu = models.ForeignKey("clusters.Gpu", models.PROTECT, db_index=False)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    gpu_mj = models.BigIntegerField()
    host_mj = models.BigIntegerField()
    # The terms; a price that was not known is null, and its cost 0 until it is.
    method = models.TextField(choices=Method)
    pue = models.DecimalField(max_digits=4, decimal_places=2)
    price_per_kwh = models.DecimalField(max_digits=16, decimal_places=12, null=True)
    g_per_kwh = models.DecimalField(max_digits=9, decimal_places=3, null=True)
    currency = models.TextField()
    cost = models.DecimalField(max_digits=28, decimal_places=12, default=Decimal(0))
    carbon_g = models.DecimalField(max_digits=28, decimal_places=12, default=Decimal(0))
    # Share of the time in the window for which readings lie close together.
    coverage = models.FloatField()
    written_at = models.DateTimeField()

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The ledger names the tenant."),
        "cluster": ConstraintRule("in_use", "", "The ledger names the cluster."),
        "gpu": ConstraintRule("in_use", "", "The ledger names the GPU."),
        "energy_ledgerrow_attempt_of_tenant": ConstraintRule(
            "in_use", "", "The ledger names the attempt."
        ),
    }

    class Meta:
        constraints = (
            Check(
                "ledger_window",
                Q(ends_at__gt=F("starts_at")),
                "invalid_window: A window ends after it begins.",
                pointer="",
            ),
            Check(
                "ledger_coverage",
                Q(coverage__range=(0, 1)),
                "invalid_coverage: A coverage is 0 to 1.",
                pointer="",
            ),
            Check(
                "ledger_method",
                Q(method__in=("counter", "integrated")),
                "invalid_method: Energy is counted or integrated.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["tenant", "starts_at"], name="ledger_by_tenant"),
            models.Index(fields=["cluster", "starts_at"], name="ledger_by_cluster"),
            models.Index(fields=["attempt", "gpu"], name="ledger_by_attempt"),
            models.Index(fields=["gpu"], name="ledger_by_gpu"),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id}: {self.gpu_mj} mJ from {self.starts_at:%Y-%m-%d %H:%M}"
