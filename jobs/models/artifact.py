"""What attempts leave behind: named paths that their nodes send in after the end."""

from django.db import models
from django.db.models import Q

from rest.constraints import Check, ConstraintRule, Unique


class Artifact(models.Model):
    """One per node of an attempt: each node has its own working directory."""

    class State(models.TextChoices):
        PENDING = "pending"
        STORED = "stored"
        MISSING = "missing"
        REFUSED = "refused"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    attempt = models.ForeignKey(
        "jobs.Attempt",
        models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="artifacts",
    )
    node = models.ForeignKey("clusters.Node", models.CASCADE, db_index=False)
    name = models.TextField()
    path = models.TextField()
    state = models.TextField(choices=State, default=State.PENDING)
    detail = models.TextField(default="")
    # Whether it is a folder, as tar.gz.
    packed = models.BooleanField(default=False)
    # (blob, tenant) is a composite key: the database refuses another tenant's bytes.
    blob = models.ForeignKey(
        "storage.Blob", models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    created_at = models.DateTimeField()

    explained = {
        "jobs_artifact_attempt_of_tenant": ConstraintRule(
            "attempt_gone", "", "The attempt is gone."
        ),
        "jobs_artifact_blob_of_tenant": ConstraintRule(
            "in_use", "", "Artifacts hold these bytes; delete them first."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                "artifact_once",
                ["attempt", "node", "name"],
                "artifact_exists: The node has sent this artifact already.",
                pointer="",
            ),
            Check(
                "artifact_state",
                Q(state="stored", blob__isnull=False)
                | Q(state__in=("pending", "missing", "refused"), blob__isnull=True),
                "invalid_state: An artifact has bytes exactly when it is stored.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["created_at"], name="artifact_by_age"),
            models.Index(fields=["blob"], name="artifact_by_blob", condition=Q(blob__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.name} of attempt {self.attempt_id}"

    @property
    def file_name(self) -> str:
        return f"{self.name}.tar.gz" if self.packed else self.name
