"""What a tenant wants run; `state` is written by jobs/lifecycle.py alone."""

from decimal import Decimal

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique


class JobArray(models.Model):
    """Many jobs submitted as one; each knows its index."""

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    name = models.TextField()
    size = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())

    explained = {
        "tenant": ConstraintRule(
            "unknown_tenant", "/tenant", "The tenant is gone, or still has arrays."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["id", "tenant"],
                name="array_of_tenant",
                pointer="",
                violation_error_code="duplicate_id",
                violation_error_message="The id is taken.",
            ),
            Check(
                condition=Q(size__range=(1, 10_000)),
                name="array_size",
                violation_error_code="invalid_size",
                violation_error_message="An array has 1 to 10,000 jobs.",
            ),
        )
        indexes = (models.Index(fields=["tenant", "-id"], name="array_by_tenant"),)

    def __str__(self) -> str:
        return f"{self.name}[{self.size}]"


class Job(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued"
        PLACED = "placed"
        RUNNING = "running"
        PREEMPTING = "preempting"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Span(models.TextChoices):
        """The widest stretch of the topology over which the job's GPUs may lie."""

        NODE = "node"
        RACK = "rack"
        SWITCH = "switch"
        ANY = "any"

    # Foreign keys here have no index of their own: the composite indexes below serve the reads,
    # and every index is paid for by every submit.
    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, db_index=False)
    # (partition, cluster), (profile, tenant) and (array, tenant) are composite keys made in the
    # migration: the database itself refuses another cluster's or another tenant's row.
    partition = models.ForeignKey(
        "clusters.Partition", models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    profile = models.ForeignKey(
        "jobs.Profile", models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    array = models.ForeignKey(
        JobArray, models.PROTECT, null=True, db_constraint=False, db_index=False
    )
    array_index = models.IntegerField(null=True)
    name = models.TextField()
    argv = ArrayField(models.TextField())
    env = models.JSONField(default=dict)
    # The tenant's own words for it; lists are filtered by them.
    labels = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    image = models.TextField(null=True)

    min_gpus = models.IntegerField(default=1)
    max_gpus = models.IntegerField(default=1)
    gpu_types = ArrayField(models.TextField(), default=list)
    cpus_per_gpu = models.IntegerField(default=1)
    memory_mib_per_gpu = models.IntegerField(default=1024)
    span = models.TextField(choices=Span, default=Span.ANY)
    priority = models.SmallIntegerField(default=50)
    deadline_at = models.DateTimeField(null=True)
    tardiness_price_per_h = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    estimated_run_s = models.IntegerField(null=True)
    work_total = models.FloatField(null=True)
    work_done = models.FloatField(default=0)
    attained_gpu_s = models.FloatField(default=0)
    preemptible = models.BooleanField(default=True)
    restartable = models.BooleanField(default=True)
    restart_cost_s = models.IntegerField(default=60)
    checkpoint_at = models.DateTimeField(null=True)
    # When it is expected to start, between when and when, and when that was reckoned.
    forecast_start_at = models.DateTimeField(null=True)
    forecast_low_at = models.DateTimeField(null=True)
    forecast_high_at = models.DateTimeField(null=True)
    forecast_at = models.DateTimeField(null=True)

    state = models.TextField(choices=State, default=State.QUEUED)
    reason = models.TextField(default="submitted")
    held = models.BooleanField(default=False)
    unmet_dependencies = models.IntegerField(default=0)
    submitted_at = models.DateTimeField()
    placed_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    version = models.BigIntegerField(default=1)

    explained = {
        "tenant": ConstraintRule(
            "unknown_tenant", "/tenant", "The tenant is gone, or still has jobs."
        ),
        "cluster": ConstraintRule(
            "unknown_cluster", "/cluster", "The cluster is gone, or still has jobs."
        ),
        "jobs_job_partition_of_cluster": ConstraintRule(
            "unknown_partition", "/partition", "The partition is gone, or still has jobs."
        ),
        "jobs_job_profile_of_tenant": ConstraintRule(
            "unknown_profile", "/profile", "The profile is gone, or still has jobs."
        ),
        "jobs_job_array_of_tenant": ConstraintRule(
            "unknown_array", "", "The array is gone, or still has jobs."
        ),
        "job_legal_move": ConstraintRule(
            "illegal_move", "", "The job is no longer where it could move from."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["id", "tenant"],
                name="job_of_tenant",
                pointer="",
                violation_error_code="duplicate_id",
                violation_error_message="The id is taken.",
            ),
            # Partial, so that jobs of no array do not pay for it.
            Unique(
                fields=["array", "array_index"],
                condition=Q(array__isnull=False),
                name="array_index_once",
                pointer="",
                violation_error_code="index_taken",
                violation_error_message="The array already has a job of this index.",
            ),
            Check(
                condition=Q(
                    state__in=(
                        "queued",
                        "placed",
                        "running",
                        "preempting",
                        "succeeded",
                        "failed",
                        "cancelled",
                    )
                ),
                name="job_state",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="There is no such state of a job.",
            ),
            Check(
                condition=Q(min_gpus__gte=1, min_gpus__lte=F("max_gpus"), max_gpus__lte=4096),
                name="job_gpus",
                pointer="/gpus",
                violation_error_code="invalid_gpus",
                violation_error_message="A job has 1 to 4096 GPUs, at least as many at most.",
            ),
            Check(
                condition=Q(cpus_per_gpu__range=(0, 1024), memory_mib_per_gpu__gte=0),
                name="job_shares",
                violation_error_code="invalid_shares",
                violation_error_message="CPUs per GPU are 0 to 1024.",
            ),
            Check(
                condition=Q(span__in=("node", "rack", "switch", "any")),
                name="job_span",
                violation_error_code="invalid_span",
                violation_error_message="A span is node, rack, switch or any.",
            ),
            Check(
                condition=Q(priority__range=(0, 100)),
                name="job_priority",
                violation_error_code="invalid_priority",
                violation_error_message="A priority is 0 to 100.",
            ),
            Check(
                condition=Q(unmet_dependencies__gte=0),
                name="job_dependencies_counted",
                pointer="",
                violation_error_code="dependency_settled",
                violation_error_message="The dependency is already settled.",
            ),
            Check(
                condition=Q(state__in=("succeeded", "failed", "cancelled"), ended_at__isnull=False)
                | Q(state__in=("queued", "placed", "running", "preempting"), ended_at__isnull=True),
                name="job_ended_when_terminal",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="A job has an end exactly when it ended.",
            ),
        )
        indexes = (
            # Every list that is filtered or ordered starts in the middle of one of these, for a
            # tenant and for operators; all of them together cost a bulk submit a tenth.
            models.Index(fields=["tenant", "-id"], name="job_by_tenant"),
            GinIndex(fields=["labels"], opclasses=["jsonb_path_ops"], name="job_by_label"),
            models.Index(fields=["tenant", "submitted_at", "id"], name="job_of_tenant_by_time"),
            models.Index(fields=["tenant", "priority", "id"], name="job_of_tenant_by_priority"),
            models.Index(fields=["tenant", "name", "id"], name="job_of_tenant_by_name"),
            models.Index(fields=["submitted_at", "id"], name="job_by_time"),
            models.Index(fields=["priority", "id"], name="job_by_priority"),
            models.Index(fields=["state", "id"], name="job_by_state"),
            models.Index(
                fields=["profile", "id"],
                name="job_by_profile",
                condition=Q(profile__isnull=False),
            ),
            # A round reads the heads of the tenants' queues and what holds GPUs; ended jobs,
            # however many, are in neither index.
            models.Index(
                fields=["cluster", "tenant", "-priority", "id"],
                name="job_queue",
                condition=Q(state="queued"),
            ),
            models.Index(
                fields=["cluster", "state", "id"],
                name="job_live",
                condition=Q(state__in=("placed", "running", "preempting")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"


class JobDependency(models.Model):
    class Kind(models.TextChoices):
        SUCCEEDED = "succeeded"
        ENDED = "ended"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    job = models.ForeignKey(
        Job, models.CASCADE, related_name="depends_on", db_constraint=False, db_index=False
    )
    on_job = models.ForeignKey(Job, models.CASCADE, related_name="dependents", db_constraint=False)
    kind = models.TextField(choices=Kind, default=Kind.SUCCEEDED)
    met_at = models.DateTimeField(null=True)

    explained = {
        "jobs_jobdependency_job_of_tenant": ConstraintRule("job_gone", "", "The job is gone."),
        "jobs_jobdependency_on_job_of_tenant": ConstraintRule(
            "unknown_job", "/depends_on", "A job it depends on is gone."
        ),
    }

    class Meta:
        verbose_name_plural = "job dependencies"
        constraints = (
            Unique(
                fields=["job", "on_job"],
                name="dependency_once",
                pointer="/depends_on",
                violation_error_code="duplicate_dependency",
                violation_error_message="A job is named twice.",
            ),
            # Ids grow, so "on an earlier job" makes a cycle impossible.
            Check(
                condition=Q(on_job__lt=F("job")),
                name="dependency_on_earlier_job",
                pointer="/depends_on",
                violation_error_code="dependency_on_later_job",
                violation_error_message="A job can only depend on jobs submitted before it.",
            ),
            Check(
                condition=Q(kind__in=("succeeded", "ended")),
                name="dependency_kind",
                pointer="/depends_on",
                violation_error_code="invalid_kind",
                violation_error_message="A kind is succeeded or ended.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_id} after {self.on_job_id}"


class JobEvent(models.Model):
    """One move of a job's state; the id is the global sequence that event streams resume from."""

    id = models.BigAutoField(primary_key=True)
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    job = models.ForeignKey(Job, models.CASCADE, db_constraint=False, db_index=False)
    at = models.DateTimeField()
    from_state = models.TextField(null=True)
    to_state = models.TextField()
    reason = models.TextField()
    detail = models.JSONField(default=dict)

    explained = {
        "jobs_jobevent_job_of_tenant": ConstraintRule("job_gone", "", "The job is gone."),
    }

    class Meta:
        indexes = (models.Index(fields=["job", "id"], name="event_by_job"),)

    def __str__(self) -> str:
        return f"{self.from_state} → {self.to_state} ({self.reason})"
