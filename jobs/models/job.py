"""What a tenant wants run; `state` is written by jobs/lifecycle.py alone."""

from decimal import Decimal
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target


def _list() -> "models.JSONField[Any, Any]":
    return models.JSONField(default=list, db_default=Value([], models.JSONField()))


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
            composite_target("array"),
            Check(
                "array_size",
                Q(size__range=(1, 10_000)),
                "invalid_size: An array has 1 to 10,000 jobs.",
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

    class Processes(models.TextChoices):
        """How many processes an attempt is, wherever it lies."""

        ONE = "one"
        PER_NODE = "per_node"
        PER_GPU = "per_gpu"

    class RetryOn(models.TextChoices):
        """Ends that count as a failed try; a node's fault never does."""

        EXIT = "exit"
        SIGNAL = "signal"
        OUT_OF_MEMORY = "out_of_memory"

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
    # The values are sealed (jobs/sealed_env.py); the names are the tenant's to see.
    sealed_env = models.TextField(default="", db_default="")
    env_names = ArrayField(models.TextField(), default=list, db_default=[])
    # The tenant's own words for it; lists are filtered by them.
    labels = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    image = models.TextField(null=True)
    processes = models.TextField(choices=Processes, default=Processes.ONE, db_default="one")
    # What fills the working directory: an archive, (workdir, tenant) being a composite key, or git.
    workdir = models.ForeignKey(
        "storage.Blob", models.SET_NULL, null=True, db_constraint=False, db_index=False
    )
    git_url = models.TextField(null=True)
    git_commit = models.TextField(null=True)
    # [{"volume", "target", "read_only"}], [{"name", "path"}] and [{"name", "variable" or "file"}]:
    # names, which are looked up again whenever an attempt starts.
    mounts = _list()
    artifacts = _list()
    secrets = _list()
    time_limit_s = models.IntegerField(null=True)

    min_gpus = models.IntegerField(default=1)
    max_gpus = models.IntegerField(default=1)
    gpu_types = ArrayField(models.TextField(), default=list)
    cpus_per_gpu = models.IntegerField(default=1)
    # Null: its GPUs' share of a node's memory.
    memory_mib_per_gpu = models.IntegerField(null=True)
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
    # How long an attempt may live unheard; null: RUN_LEASE_S.
    run_lease_s = models.IntegerField(null=True)
    # How often an attempt that failed by itself is tried again, after which ends, and not before.
    max_retries = models.SmallIntegerField(default=0, db_default=0)
    retries = models.SmallIntegerField(default=0, db_default=0)
    retry_on = ArrayField(models.TextField(), default=list, db_default=[])
    retry_backoff_s = models.IntegerField(default=10, db_default=10)
    retry_at = models.DateTimeField(null=True)
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
        "jobs_job_workdir_of_tenant": ConstraintRule(
            "unknown_archive", "/workdir/archive", "The archive is gone."
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
            composite_target("job"),
            # Partial, so that jobs of no array do not pay for it.
            Unique(
                "array_index_once",
                ["array", "array_index"],
                "index_taken: The array already has a job of this index.",
                condition=Q(array__isnull=False),
                pointer="",
            ),
            Check(
                "job_state",
                Q(
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
                "invalid_state: There is no such state of a job.",
                pointer="",
            ),
            Check(
                "job_gpus",
                Q(min_gpus__gte=1, min_gpus__lte=F("max_gpus"), max_gpus__lte=4096),
                "invalid_gpus: A job has 1 to 4096 GPUs, at least as many at most.",
                pointer="/gpus",
            ),
            Check(
                "job_shares",
                Q(cpus_per_gpu__range=(0, 1024))
                & (Q(memory_mib_per_gpu__isnull=True) | Q(memory_mib_per_gpu__gte=0)),
                "invalid_shares: CPUs per GPU are 0 to 1024.",
            ),
            Check(
                "job_span",
                Q(span__in=("node", "rack", "switch", "any")),
                "invalid_span: A span is node, rack, switch or any.",
            ),
            Check(
                "job_processes",
                Q(processes__in=("one", "per_node", "per_gpu")),
                "invalid_processes: Processes are one, per_node or per_gpu.",
            ),
            Check(
                "job_workdir",
                Q(git_url__isnull=True, git_commit__isnull=True)
                | Q(git_url__isnull=False, git_commit__isnull=False, workdir__isnull=True),
                "workdir_twice: Give an archive, or a git URL with a commit.",
                pointer="/workdir",
            ),
            Check(
                "job_time_limit",
                Q(time_limit_s__isnull=True) | Q(time_limit_s__range=(1, 10 * 365 * 86_400)),
                "out_of_range: A time limit is a second to ten years.",
            ),
            Check(
                "job_retries",
                Q(
                    max_retries__range=(0, 100),
                    retries__gte=0,
                    retries__lte=F("max_retries"),
                    retry_backoff_s__range=(1, 86_400),
                ),
                "out_of_range: A job is retried 0 to 100 times, a second to a day later.",
                pointer="/max_retries",
            ),
            Check(
                "job_priority",
                Q(priority__range=(0, 100)),
                "invalid_priority: A priority is 0 to 100.",
            ),
            Check(
                "job_deadline_ahead",
                Q(deadline_at__isnull=True) | Q(deadline_at__gte=F("submitted_at")),
                "deadline_passed: A deadline is not before the job's submission.",
                pointer="/deadline_at",
            ),
            Check(
                "job_tardiness_price",
                Q(tardiness_price_per_h__gte=0),
                "out_of_range: A price of lateness is not negative.",
                pointer="/tardiness_price_per_h",
            ),
            Check(
                "job_run_lease",
                Q(run_lease_s__isnull=True) | Q(run_lease_s__range=(300, 86_400)),
                "out_of_range: A run lease is 5 minutes to 24 hours.",
                pointer="/run_lease_s",
            ),
            Check(
                "job_dependencies_counted",
                Q(unmet_dependencies__gte=0),
                "dependency_settled: The dependency is already settled.",
                pointer="",
            ),
            Check(
                "job_ended_when_terminal",
                Q(state__in=("succeeded", "failed", "cancelled"), ended_at__isnull=False)
                | Q(state__in=("queued", "placed", "running", "preempting"), ended_at__isnull=True),
                "invalid_state: A job has an end exactly when it ended.",
                pointer="",
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

    @property
    def exit_code(self) -> int | None:
        """As a shell has it: 128 and more for one that a signal ended; null while it is not over.

        The kernel ends what is out of memory with signal 9. A job that was cancelled, ran out of
        time or never started has none.
        """
        if self.ended_at is None:
            return None
        kind, _, number = ("signal_9" if self.reason == "out_of_memory" else self.reason).partition(
            "_"
        )
        if kind not in {"exit", "signal"} or not number.isdigit():
            return None
        return int(number) + (128 if kind == "signal" else 0)


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
                "dependency_once",
                ["job", "on_job"],
                "duplicate_dependency: A job is named twice.",
                pointer="/depends_on",
            ),
            # Ids grow, so "on an earlier job" makes a cycle impossible.
            Check(
                "dependency_on_earlier_job",
                Q(on_job__lt=F("job")),
                "dependency_on_later_job: A job can only depend on jobs submitted before it.",
                pointer="/depends_on",
            ),
            Check(
                "dependency_kind",
                Q(kind__in=("succeeded", "ended")),
                "invalid_kind: A kind is succeeded or ended.",
                pointer="/depends_on",
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
        indexes = (
            models.Index(fields=["job", "id"], name="event_by_job"),
            models.Index(fields=["tenant", "id"], name="event_by_tenant"),
        )

    def __str__(self) -> str:
        return f"{self.from_state} → {self.to_state} ({self.reason})"
