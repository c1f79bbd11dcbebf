"""A tenant's quota on one GPU type; the overall quota stands on the tenant itself."""

from django.db import models
from django.db.models import F, Q

from clusters.models.hardware import GpuType


class GpuQuota(models.Model):
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE)
    gpu_type = models.ForeignKey(GpuType, models.CASCADE)
    gpus = models.IntegerField()
    gpus_in_use = models.IntegerField(default=0)
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tenant", "gpu_type"], name="gpu_quota_once"),
            models.CheckConstraint(
                condition=Q(gpus_in_use__gte=0, gpus_in_use__lte=F("gpus")),
                name="gpu_quota_within",
            ),
        )

    def __str__(self) -> str:
        return f"{self.gpus_in_use}/{self.gpus}"
