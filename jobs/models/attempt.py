"""One try at a job, and the GPUs it holds; the database keeps a GPU from being held twice."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target


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
    # How long its nodes may be silent before it is given up; agreed upon when it is handed out.
    run_lease_s = models.IntegerField(null=True)
    offered_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # How it ended on the node that speaks for it, in fields; the agent's own words are the detail.
    exit_code = models.SmallIntegerField(null=True)
    signal = models.SmallIntegerField(null=True)
    out_of_memory = models.BooleanField(default=False, db_default=False)
    detail = models.TextField(default="", db_default="")
    # What its GPUs and their share of the hosts were expected to draw when it was placed, and from
    # what that was reckoned.
    predicted_gpu_mj = models.BigIntegerField(null=True)
    predicted_host_mj = models.BigIntegerField(null=True)
    predicted_by = models.TextField(choices=Prediction, null=True)
    created_at = models.DateTimeField(db_default=Now())

    explained = {
        "fence": ConstraintRule("duplicate_fence", "", "The fence is taken."),
        "attempt_fence_grows": ConstraintRule("stale_fence", "", "A newer attempt has taken over."),
        "jobs_attempt_job_of_tenant": ConstraintRule("in_use", "", "The job still has attempts."),
    }

    class Meta:
        constraints = (
            composite_target("attempt"),
            Unique(
                "attempt_number_once",
                ["job", "number"],
                "attempt_lives: The job has another attempt of this number.",
                pointer="",
            ),
            Unique(
                "one_live_attempt_per_job",
                ["job"],
                "attempt_lives: The job already has a live attempt.",
                condition=~Q(state__in=("ended", "lost")),
                pointer="",
            ),
            Check(
                "attempt_state",
                Q(state__in=("offered", "starting", "running", "stopping", "ended", "lost")),
                "invalid_state: There is no such state of an attempt.",
                pointer="",
            ),
            Check(
                "attempt_relocation_until",
                Q(relocation__isnull=True, relocation_until_at__isnull=True)
                | Q(relocation__isnull=False, relocation_until_at__isnull=False),
                "invalid_state: A place to go on at is kept for a time.",
                pointer="",
            ),
            Check(
                "attempt_ended_when_over",
                Q(state__in=("ended", "lost"), ended_at__isnull=False)
                | Q(
                    state__in=("offered", "starting", "running", "stopping"),
                    ended_at__isnull=True,
                ),
                "invalid_state: An attempt has an end exactly when it is over.",
                pointer="",
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
        "allocation_one_tenant": ConstraintRule(
            "one_tenant_per_node", "", "The node is another tenant's while it has no wall."
        ),
        "jobs_allocation_attempt_of_tenant": ConstraintRule(
            "in_use", "", "The attempt has held GPUs."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                "one_holder_per_gpu",
                ["gpu"],
                "gpu_held: Another attempt holds the GPU.",
                condition=Q(released_at__isnull=True),
                pointer="",
            ),
            Check(
                "allocation_shares",
                Q(cpus__gte=0, memory_mib__gte=0),
                "invalid_shares: CPUs and memory are not negative.",
                pointer="",
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
