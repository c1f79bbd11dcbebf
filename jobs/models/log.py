"""What attempts print, in pieces as they came in."""

from django.db import models
from django.db.models import Q

from rest.constraints import Check, ConstraintRule, Unique


class Log(models.Model):
    """One stream of an attempt's part on one node; `size` is the next byte that is wanted."""

    class Stream(models.TextChoices):
        STDOUT = "stdout"
        STDERR = "stderr"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    attempt = models.ForeignKey("jobs.Attempt", models.CASCADE, db_constraint=False, db_index=False)
    node = models.ForeignKey("clusters.Node", models.CASCADE, db_index=False)
    stream = models.TextField(choices=Stream)
    size = models.BigIntegerField(default=0)
    # Where the newest chunk begins: small additions go to it.
    tail_offset = models.BigIntegerField(default=0)
    # Nothing follows: the stream has ended, or has reached its cap.
    closed = models.BooleanField(default=False)
    updated_at = models.DateTimeField()

    explained = {
        "jobs_log_attempt_of_tenant": ConstraintRule("attempt_gone", "", "The attempt is gone."),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["attempt", "node", "stream"],
                name="log_once",
                pointer="",
                violation_error_code="log_exists",
                violation_error_message="The stream is kept already.",
            ),
            Check(
                condition=Q(stream__in=("stdout", "stderr")),
                name="log_stream",
                pointer="",
                violation_error_code="invalid_stream",
                violation_error_message="A stream is stdout or stderr.",
            ),
        )
        indexes = (models.Index(fields=["updated_at"], name="log_by_age"),)

    def __str__(self) -> str:
        return f"{self.stream} of attempt {self.attempt_id} on node {self.node_id}"


class LogChunk(models.Model):
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    log = models.ForeignKey(Log, models.CASCADE, db_index=False)
    offset = models.BigIntegerField()
    data = models.BinaryField()

    explained = {
        "log": ConstraintRule("log_gone", "", "The log is gone."),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["log", "offset"],
                name="log_chunk_once",
                pointer="",
                violation_error_code="log_exists",
                violation_error_message="The stream has bytes there already.",
            ),
        )

    def __str__(self) -> str:
        return f"{len(self.data)} bytes at {self.offset}"
