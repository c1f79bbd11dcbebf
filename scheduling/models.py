"""One run of a policy, what it decided, and all that is needed to replay it."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Abs

from policies.contract.policy import ROUNDING
from rest.constraints import Check, ConstraintRule


class Round(models.Model):
    class Status(models.TextChoices):
        DONE = "done"
        FAILED = "failed"

    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE, db_index=False)
    policy = models.TextField()
    parameters = models.JSONField(default=dict)
    seed = models.BigIntegerField()
    status = models.TextField(choices=Status)
    error = models.TextField(default="")
    started_at = models.DateTimeField()
    load_ms = models.FloatField()
    plan_ms = models.FloatField(default=0)
    check_ms = models.FloatField(default=0)
    apply_ms = models.FloatField(default=0)
    queued = models.IntegerField(default=0)
    running = models.IntegerField(default=0)
    started = models.IntegerField(default=0)
    preempted = models.IntegerField(default=0)
    moved = models.IntegerField(default=0)
    resized = models.IntegerField(default=0)
    # Nodes that were switched off or on.
    switched = models.IntegerField(default=0)
    waiting = models.IntegerField(default=0)
    stale = models.IntegerField(default=0)
    objective = models.FloatField(null=True)
    # What no plan falls below, and how much of the objective lies above that; only some rounds are
    # looked at, and later.
    bound = models.FloatField(null=True)
    gap = models.FloatField(null=True)
    shown = models.JSONField(default=dict)
    # The compressed snapshot and plan; retention empties them, the digests stay.
    snapshot = models.BinaryField(null=True)
    snapshot_digest = models.TextField()
    plan = models.BinaryField(null=True)
    plan_digest = models.TextField(default="")
    shadow_policy = models.TextField(null=True)
    shadow_parameters = models.JSONField(default=dict)
    shadow_ms = models.FloatField(null=True)
    shadow_difference = models.JSONField(null=True)

    explained: ClassVar = {"cluster": ConstraintRule("in_use", "", "The cluster still has rounds.")}

    class Meta:
        constraints = (
            Check(
                "round_status",
                Q(status__in=("done", "failed")),
                "invalid_status: A round is done or failed.",
                pointer="",
            ),
            Check(
                "round_gap",
                Q(bound__isnull=True, gap__isnull=True)
                | Q(bound__isnull=False, gap__isnull=False, gap__gte=0, objective__isnull=False),
                "invalid_state: A bound has a gap, not negative, and an objective.",
                pointer="",
            ),
            Check(
                "round_bound",
                Q(bound__lte=F("objective") + ROUNDING * Abs(F("objective"))),
                "invalid_state: A bound is not above the objective.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["cluster", "-id"], name="round_by_cluster"),
            models.Index(
                fields=["cluster", "-id"],
                condition=Q(bound__isnull=False),
                name="round_bounded",
            ),
        )

    def __str__(self) -> str:
        return f"round {self.pk} ({self.policy})"


class Decision(models.Model):
    """What a round did with one job, or a wait whose reason changed since the last decision."""

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    round = models.ForeignKey(Round, models.CASCADE)
    job = models.ForeignKey("jobs.Job", models.CASCADE, db_constraint=False, db_index=False)
    action = models.TextField()
    reason = models.TextField()
    evidence = models.JSONField(default=dict)
    applied = models.BooleanField(default=True)

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The tenant still has jobs."),
        "round": ConstraintRule("round_gone", "", "The round is gone."),
        "scheduling_decision_job_of_tenant": ConstraintRule("job_gone", "", "The job is gone."),
    }

    class Meta:
        indexes = (models.Index(fields=["job", "-id"], name="decision_by_job"),)

    def __str__(self) -> str:
        return f"{self.action} job {self.job_id}: {self.reason}"
