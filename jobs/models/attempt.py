"""One try at a job, and the GPUs it holds; the database keeps a GPU from being held twice."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique


class Attempt(models.Model):
    class State(models.TextChoices):
        OFFERED = "offered"
        STARTING = "starting"
        RUNNING = "running"
        STOPPING = "stopping"
        ENDED = "ended"
        LOST = "lost"

    class Prediction(models.TextChoices):
        PROFILE = "profile"
        NAMEPLATE = "nameplate"

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    job = models.ForeignKey("jobs.Job", models.PROTECT, db_constraint=False, db_index=False)
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, db_index=False)
    # The round that placed it, by number: rounds belong to a room above, and are forgotten.
    round_id = models.BigIntegerField(null=True)
    number = models.IntegerField()
    # Drawn from the sequence jobs_fence, so a later attempt always outranks an earlier one.
    fence = models.BigIntegerField(unique=True)
    state = models.TextField(choices=State, default=State.OFFERED)
    reason = models.TextField(default="")
    gpus = models.IntegerField()
    clock_mhz = models.IntegerField(null=True)
    # What a profiling run wants of it just now, over its own clock and CPUs; null: nothing.
    steered_clock_mhz = models.IntegerField(null=True)
    steered_cpus = models.IntegerField(null=True)
    # When a round last changed the clock; null: as it was placed.
    clock_at = models.DateTimeField(null=True)
    # Where its job goes on when it has stopped, and until when that place is kept for it:
    # {"reason", "round", "clock_mhz", "pieces": [{"node", "gpus": [index], "cpus", "mem_mib"}]}.
    relocation = models.JSONField(null=True)
    relocation_until_at = models.DateTimeField(null=True)
    offered_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # What its GPUs were expected to draw when it was placed, and from what that was reckoned.
    predicted_mj = models.BigIntegerField(null=True)
    predicted_by = models.TextField(choices=Prediction, null=True)
    created_at = models.DateTimeField(db_default=Now())

    explained = {
        "fence": ConstraintRule("duplicate_fence", "", "The fence is taken."),
        "attempt_fence_grows": ConstraintRule("stale_fence", "", "A newer attempt has taken over."),
        "jobs_attempt_job_of_tenant": ConstraintRule("in_use", "", "The job still has attempts."),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["id", "tenant"],
                name="attempt_of_tenant",
                pointer="",
                violation_error_code="duplicate_id",
                violation_error_message="The id is taken.",
            ),
            Unique(
                fields=["job", "number"],
                name="attempt_number_once",
                pointer="",
                violation_error_code="attempt_lives",
                violation_error_message="The job has another attempt of this number.",
            ),
            Unique(
                fields=["job"],
                condition=~Q(state__in=("ended", "lost")),
                name="one_live_attempt_per_job",
                pointer="",
                violation_error_code="attempt_lives",
                violation_error_message="The job already has a live attempt.",
            ),
            Check(
                condition=Q(
                    state__in=("offered", "starting", "running", "stopping", "ended", "lost")
                ),
                name="attempt_state",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="There is no such state of an attempt.",
            ),
            Check(
                condition=Q(relocation__isnull=True, relocation_until_at__isnull=True)
                | Q(relocation__isnull=False, relocation_until_at__isnull=False),
                name="attempt_relocation_until",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="A place to go on at is kept for a time.",
            ),
            Check(
                condition=Q(state__in=("ended", "lost"), ended_at__isnull=False)
                | Q(
                    state__in=("offered", "starting", "running", "stopping"),
                    ended_at__isnull=True,
                ),
                name="attempt_ended_when_over",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="An attempt has an end exactly when it is over.",
            ),
        )
        indexes = (
            models.Index(fields=["tenant", "-id"], name="attempt_by_tenant"),
            models.Index(
                fields=["cluster", "job"],
                name="attempt_live",
                condition=~Q(state__in=("ended", "lost")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_id}.{self.number}"


class Allocation(models.Model):
    """One GPU held by an attempt, with the CPUs and memory that go with it."""

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    attempt = models.ForeignKey(Attempt, models.PROTECT, db_constraint=False, db_index=False)
    node = models.ForeignKey("clusters.Node", models.PROTECT, db_index=False)
    gpu = models.ForeignKey("clusters.Gpu", models.PROTECT, db_index=False)
    cpus = models.IntegerField()
    memory_mib = models.BigIntegerField()
    held_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    explained = {
        "jobs_allocation_attempt_of_tenant": ConstraintRule(
            "in_use", "", "The attempt has held GPUs."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["gpu"],
                condition=Q(released_at__isnull=True),
                name="one_holder_per_gpu",
                pointer="",
                violation_error_code="gpu_held",
                violation_error_message="Another attempt holds the GPU.",
            ),
            Check(
                condition=Q(cpus__gte=0, memory_mib__gte=0),
                name="allocation_shares",
                pointer="",
                violation_error_code="invalid_shares",
                violation_error_message="CPUs and memory are not negative.",
            ),
        )
        indexes = (
            models.Index(fields=["attempt"], name="allocation_by_attempt"),
            models.Index(
                fields=["node"], name="allocation_open", condition=Q(released_at__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return f"gpu {self.gpu_id} by attempt {self.attempt_id}"
