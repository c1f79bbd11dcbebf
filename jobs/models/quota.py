"""A tenant's quota on one GPU type; the overall quota stands on the tenant itself."""

from django.db import models
from django.db.models import F, Q

from clusters.models.hardware import GpuType
from rest.constraints import Check, Unique


class GpuQuota(models.Model):
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE)
    gpu_type = models.ForeignKey(GpuType, models.CASCADE)
    gpus = models.IntegerField()
    gpus_in_use = models.IntegerField(default=0)
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            Unique(
                "gpu_quota_once",
                ["tenant", "gpu_type"],
                "already_set: The tenant has a quota on this type; change that one.",
            ),
            Check(
                "gpu_quota_within",
                Q(gpus_in_use__gte=0, gpus_in_use__lte=F("gpus")),
                "quota_below_use: The quota may not be below the GPUs in use; wait or cancel "
                "jobs first.",
                pointer="/gpus",
            ),
        )

    def __str__(self) -> str:
        return f"{self.gpus_in_use}/{self.gpus}"
