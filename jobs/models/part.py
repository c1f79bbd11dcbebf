"""An attempt's part on one node: a gang has several, and each is reported by its own agent."""

from django.db import models
from django.db.models import Q

from agent.wire import End
from rest.constraints import Check, ConstraintRule, Unique


class Part(models.Model):
    class State(models.TextChoices):
        STARTING = "starting"
        RUNNING = "running"
        STOPPING = "stopping"
        ENDED = "ended"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    attempt = models.ForeignKey(
        "jobs.Attempt", models.CASCADE, db_constraint=False, db_index=False, related_name="parts"
    )
    node = models.ForeignKey("clusters.Node", models.CASCADE, db_index=False)
    state = models.TextField(choices=State, default=State.STARTING)
    fetched_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # Since when the node's agent, though it speaks, does not speak of it.
    unreported_at = models.DateTimeField(null=True)
    end = models.TextField(default="")
    exit_code = models.SmallIntegerField(null=True)
    signal = models.SmallIntegerField(null=True)
    out_of_memory = models.BooleanField(default=False, db_default=False)
    failed_rank = models.IntegerField(null=True)
    detail = models.TextField(default="")
    # What its node still brings along, as agent.wire.Fetching; null once its program runs.
    fetching = models.JSONField(null=True)
    progress_step = models.BigIntegerField(null=True)
    checkpoint_step = models.BigIntegerField(null=True)
    log_bytes_dropped = models.BigIntegerField(default=0)
    # The node's last measurement of the attempt's speed: at one clock and CPU count, since settled.
    speed_clock_mhz = models.IntegerField(null=True)
    speed_cpus = models.IntegerField(null=True)
    speed_steps = models.BigIntegerField(null=True)
    speed_s = models.FloatField(null=True)
    speed_mj = models.BigIntegerField(null=True)
    speed_mj_s = models.FloatField(null=True)

    explained = {
        "jobs_part_attempt_of_tenant": ConstraintRule("attempt_gone", "", "The attempt is gone."),
    }

    class Meta:
        constraints = (
            Unique(
                "part_once_per_node",
                ["attempt", "node"],
                "part_exists: The attempt already has a part on the node.",
                pointer="",
            ),
            Check(
                "part_ended_when_over",
                Q(state="ended", ended_at__isnull=False)
                | Q(state__in=("starting", "running", "stopping"), ended_at__isnull=True),
                "invalid_state: A part has an end exactly when it is over.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["node"], name="part_live", condition=~Q(state="ended")),
            models.Index(
                fields=["ended_at"], name="part_by_end", condition=Q(ended_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} on node {self.node_id}"

    @property
    def succeeded(self) -> bool:
        return self.end == End.EXITED and self.exit_code == 0
