"""Folders that operators say nodes have, and which tenants' jobs may mount them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from clusters.models.cluster import Cluster
from rest.constraints import Check, ConstraintRule, Unique
from rest.names import slug_name

# Postgres has no look-ahead that spans a path, so `.` and `..` are refused by a second pattern.
_PATH, _NO_DOTS = r"^(/[A-Za-z0-9._@+-]+)+$", r"/\.{1,2}(/|$)"


class Volume(models.Model):
    """`path` is where every node of the cluster has it; jobs see it where they mount it."""

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    name = models.TextField()
    path = models.TextField()
    read_only = models.BooleanField(default=True)
    # Whether every tenant may mount it; if not, those with a grant may.
    everyone = models.BooleanField(default=False)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            Unique(
                "volume_name_taken",
                ["cluster", "name"],
                "name_taken: Another volume of this cluster has this name.",
            ),
            slug_name("volume"),
            Check(
                "volume_path",
                Q(path__regex=_PATH) & ~Q(path__regex=_NO_DOTS),
                "bad_path: An absolute path of plain names, without `.` and `..`.",
            ),
        )

    def __str__(self) -> str:
        return self.name


class VolumeGrant(models.Model):
    """That a tenant's jobs may mount a volume."""

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "/tenants", "The tenant is gone."),
        "volume": ConstraintRule("unknown_volume", "", "The volume is gone."),
    }

    volume = models.ForeignKey(Volume, models.CASCADE, related_name="grants", db_index=False)
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE)

    class Meta:
        constraints = (
            Unique(
                "volume_grant_once",
                ["volume", "tenant"],
                "duplicate_tenant: A tenant is named twice.",
                pointer="/tenants",
            ),
        )

    def __str__(self) -> str:
        return f"volume {self.volume_id} to tenant {self.tenant_id}"
