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
                fields=["tenant", "gpu_type"],
                name="gpu_quota_once",
                violation_error_code="already_set",
                violation_error_message="The tenant has a quota on this type; change that one.",
            ),
            Check(
                condition=Q(gpus_in_use__gte=0, gpus_in_use__lte=F("gpus")),
                name="gpu_quota_within",
                pointer="/gpus",
                violation_error_code="quota_below_use",
                violation_error_message="The quota may not be below the GPUs in use; "
                "wait or cancel jobs first.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.gpus_in_use}/{self.gpus}"
