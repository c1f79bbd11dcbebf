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
    # Whose process printed it; -1: all of the node's together.
    rank = models.IntegerField(default=-1, db_default=-1)
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
                "log_once",
                ["attempt", "node", "stream", "rank"],
                "log_exists: The stream is kept already.",
                pointer="",
            ),
            Check(
                "log_stream",
                Q(stream__in=("stdout", "stderr")),
                "invalid_stream: A stream is stdout or stderr.",
                pointer="",
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
                "log_chunk_once",
                ["log", "offset"],
                "log_exists: The stream has bytes there already.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"{len(self.data)} bytes at {self.offset}"
