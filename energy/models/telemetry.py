"""Readings of the GPUs: as they come in, as they are kept, and what a counter has counted."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models

from rest.constraints import Unique


class Boot(models.Model):
    """One life of a node's kernel; counters and the numbers of samples belong to one."""

    node = models.ForeignKey("clusters.Node", models.CASCADE)
    boot_id = models.TextField()
    first_seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            Unique(
                "boot_once_per_node",
                ["node", "boot_id"],
                "conflict: The node has reported this boot already.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return self.boot_id


class SampleInbox(models.Model):
    """Where COPY puts samples, unread: no index but the id, no key, no check."""

    node_id = models.BigIntegerField()
    gpu_id = models.BigIntegerField()
    boot_id = models.BigIntegerField()
    sequence = models.BigIntegerField()
    at = models.DateTimeField()
    boot_ms = models.BigIntegerField()
    energy_mj = models.BigIntegerField()
    power_mw = models.IntegerField()
    attempt_id = models.BigIntegerField(null=True)
    integrated = models.BooleanField()
    utilisation_pct = models.SmallIntegerField(null=True)
    memory_used_mib = models.IntegerField(null=True)
    temperature_c = models.SmallIntegerField(null=True)
    clock_mhz = models.IntegerField(null=True)

    class Meta:
        verbose_name_plural = "sample inbox"

    def __str__(self) -> str:
        return f"gpu {self.gpu_id} #{self.sequence}"


class Sample(models.Model):
    """One reading, kept for hours; `attempt_id` held the GPU in the interval that ends with it.

    Without foreign keys: thousands of rows a second would each look up what the inbox's reader has
    looked up already.
    """

    pk = models.CompositePrimaryKey("gpu_id", "boot_id", "sequence")
    gpu_id = models.BigIntegerField()
    boot_id = models.BigIntegerField()
    sequence = models.BigIntegerField()
    at = models.DateTimeField()
    boot_ms = models.BigIntegerField()
    energy_mj = models.BigIntegerField()
    power_mw = models.IntegerField()
    attempt_id = models.BigIntegerField(null=True)
    integrated = models.BooleanField()
    utilisation_pct = models.SmallIntegerField(null=True)
    memory_used_mib = models.IntegerField(null=True)
    temperature_c = models.SmallIntegerField(null=True)
    clock_mhz = models.IntegerField(null=True)

    class Meta:
        # Rows come in nearly in order of time, so that a page's range of times is a good index.
        indexes = (BrinIndex(fields=["at"], name="sample_by_time", pages_per_range=32),)

    def __str__(self) -> str:
        return f"gpu {self.gpu_id} #{self.sequence}"


class SampleMinute(models.Model):
    """The readings of one GPU in one minute, kept for months."""

    gpu = models.ForeignKey("clusters.Gpu", models.CASCADE, db_index=False)
    boot = models.ForeignKey(Boot, models.CASCADE, db_index=False)
    minute_at = models.DateTimeField()
    samples = models.IntegerField()
    # The counter at the first and the last reading of the minute.
    first_mj = models.BigIntegerField()
    last_mj = models.BigIntegerField()
    mean_mw = models.IntegerField()
    max_mw = models.IntegerField()
    utilisation_pct = models.SmallIntegerField(null=True)
    memory_used_mib = models.IntegerField(null=True)
    temperature_c = models.SmallIntegerField(null=True)
    clock_mhz = models.IntegerField(null=True)

    class Meta:
        constraints = (
            Unique(
                "minute_once",
                ["gpu", "minute_at", "boot"],
                "conflict: A GPU's minute is kept once.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"gpu {self.gpu_id} at {self.minute_at:%Y-%m-%d %H:%M}"


class GpuCounter(models.Model):
    """How far a GPU's counter came within one boot, as far as readings tell."""

    gpu = models.ForeignKey("clusters.Gpu", models.CASCADE, db_index=False)
    boot = models.ForeignKey(Boot, models.CASCADE, db_index=False)
    first_mj = models.BigIntegerField()
    last_mj = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    last_sequence = models.BigIntegerField()
    last_at = models.DateTimeField()
    # Samples up to this number are gone; what was counted unseen between them stays here.
    kept_from = models.BigIntegerField(default=-1)
    gap_mj = models.BigIntegerField(default=0)

    class Meta:
        constraints = (
            Unique(
                "counter_once",
                ["gpu", "boot"],
                "conflict: A GPU's counter of one boot is kept once.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"gpu {self.gpu_id}: {self.last_mj - self.first_mj} mJ"
