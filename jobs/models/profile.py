"""How a kind of job behaves: measured points of throughput and power per configuration."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Profile(models.Model):
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    name = models.TextField()
    # Each {"gpu_type", "gpus", "clock_mhz"?, "steps_per_s", "watts_per_gpu"?}.
    points = models.JSONField(default=list)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tenant", "name"], name="profile_name_taken"),
            # The target of composite keys: a job cannot name another tenant's profile.
            models.UniqueConstraint(fields=["id", "tenant"], name="profile_of_tenant"),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$"),
                name="profile_name",
            ),
        )

    def __str__(self) -> str:
        return self.name
