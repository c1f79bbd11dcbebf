"""How a kind of job behaves: what was measured of it, and the fits that predict the rest."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique


class Profile(models.Model):
    """A tenant's application; each fit of its points is a version of what is known about it."""

    class Basis(models.TextChoices):
        NEUTRAL = "neutral"  # nothing is known: a job's own estimate is all there is
        MEASURED = "measured"
        FITTED = "fitted"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    name = models.TextField()
    basis = models.TextField(choices=Basis, default=Basis.NEUTRAL)
    # Made of the table that a job brought along, and named after what it says.
    inline = models.BooleanField(default=False)
    # What an epoch reads and what a step does, per GPU, and how fast storage gives it: how speed
    # depends on memory follows from these.
    dataset_mib = models.FloatField(null=True)
    step_mib = models.FloatField(null=True)
    storage_mib_per_s = models.FloatField(null=True)
    # What the newest attempts say against the fit, and since when.
    drift = models.TextField(default="")
    drift_at = models.DateTimeField(null=True)
    # Points came since the last fit; and why the last could not be made.
    fit_due = models.BooleanField(default=False)
    fit_refused = models.TextField(default="")
    # Grows with everything that is learned; `version` only with what its owner changes.
    revision = models.BigIntegerField(default=0)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    explained = {
        "tenant": ConstraintRule(
            "unknown_tenant", "/tenant", "The tenant is gone, or still has profiles."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["tenant", "name"],
                name="profile_name_taken",
                violation_error_code="name_taken",
                violation_error_message="Another profile has this name.",
            ),
            # The target of composite keys: a job cannot name another tenant's profile.
            Unique(
                fields=["id", "tenant"],
                name="profile_of_tenant",
                pointer="",
                violation_error_code="duplicate_id",
                violation_error_message="The id is taken.",
            ),
            Check(
                condition=Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$"),
                name="profile_name",
                violation_error_code="invalid_name",
                violation_error_message="Letters, digits and ._/- make a profile's name.",
            ),
            Check(
                condition=Q(basis__in=("neutral", "measured", "fitted")),
                name="profile_basis",
                pointer="",
                violation_error_code="invalid_basis",
                violation_error_message="A profile is neutral, measured or fitted.",
            ),
        )
        indexes = (models.Index(fields=["id"], name="profile_fit_due", condition=Q(fit_due=True)),)

    def __str__(self) -> str:
        return self.name


class ProfilePoint(models.Model):
    """Speed and watts of one configuration, measured once."""

    class Source(models.TextChoices):
        GIVEN = "given"
        PROFILING = "profiling"
        LEARNED = "learned"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    profile = models.ForeignKey(
        Profile, models.CASCADE, db_constraint=False, db_index=False, related_name="points"
    )
    gpu_type = models.TextField()
    gpus = models.IntegerField()
    # Null: the clock was not locked, or as many CPUs and as much memory as it could use.
    clock_mhz = models.IntegerField(null=True)
    cpus_per_gpu = models.FloatField(null=True)
    memory_mib_per_gpu = models.FloatField(null=True)
    steps_per_s = models.FloatField()
    watts_per_gpu = models.FloatField(null=True)
    source = models.TextField(choices=Source)
    weight = models.FloatField(default=1.0)
    # False: too far from what others say; kept to be seen, and to notice that all have moved.
    accepted = models.BooleanField(default=True)
    # Of a learned one: its speed over what was known when it came.
    known_ratio = models.FloatField(null=True)
    attempt = models.ForeignKey(
        "jobs.Attempt", models.CASCADE, null=True, db_constraint=False, db_index=False
    )
    measured_at = models.DateTimeField()

    explained = {
        "jobs_profilepoint_profile_of_tenant": ConstraintRule(
            "profile_gone", "", "The profile is gone."
        ),
        "jobs_profilepoint_attempt_of_tenant": ConstraintRule(
            "attempt_gone", "", "The attempt is gone."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=[
                    *("profile", "gpu_type", "gpus", "clock_mhz"),
                    *("cpus_per_gpu", "memory_mib_per_gpu"),
                ],
                condition=Q(source="given"),
                nulls_distinct=False,
                name="point_given_once",
                pointer="/points",
                violation_error_code="duplicate_point",
                violation_error_message="A configuration is given twice.",
            ),
            Unique(
                fields=["attempt", "clock_mhz", "cpus_per_gpu", "memory_mib_per_gpu"],
                condition=Q(attempt__isnull=False),
                nulls_distinct=False,
                name="point_once_per_attempt",
                pointer="",
                violation_error_code="point_exists",
                violation_error_message="The attempt has taught this already.",
            ),
            Check(
                condition=Q(source__in=("given", "profiling", "learned")),
                name="point_source",
                pointer="",
                violation_error_code="invalid_source",
                violation_error_message="A point is given, measured or learned.",
            ),
            Check(
                condition=Q(gpus__range=(1, 4096))
                & (Q(clock_mhz__isnull=True) | Q(clock_mhz__range=(1, 20_000)))
                & (Q(cpus_per_gpu__isnull=True) | Q(cpus_per_gpu__gt=0, cpus_per_gpu__lte=4096))
                & (
                    Q(memory_mib_per_gpu__isnull=True)
                    | Q(memory_mib_per_gpu__gte=0, memory_mib_per_gpu__lte=2**26)
                ),
                name="point_configuration",
                pointer="/points",
                violation_error_code="invalid_point",
                violation_error_message="No GPU runs in such a configuration.",
            ),
            # NaN is above every number to Postgres: the upper bounds keep it out.
            Check(
                condition=Q(steps_per_s__gt=0, steps_per_s__lte=1e12, weight__gt=0, weight__lte=1e6)
                & (
                    Q(watts_per_gpu__isnull=True)
                    | Q(watts_per_gpu__gt=0, watts_per_gpu__lte=100_000)
                ),
                name="point_figures",
                pointer="/points",
                violation_error_code="invalid_point",
                violation_error_message="A speed and watts are finite and above 0.",
            ),
        )
        indexes = (models.Index(fields=["profile", "id"], name="point_by_profile"),)

    def __str__(self) -> str:
        return f"{self.gpus} {self.gpu_type}: {self.steps_per_s:g}/s"


class ProfileFit(models.Model):
    """One version of a profile: the models fitted to the points that were there."""

    class Cause(models.TextChoices):
        ASKED = "asked"
        PROFILING = "profiling"
        LEARNED = "learned"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    profile = models.ForeignKey(
        Profile, models.CASCADE, db_constraint=False, db_index=False, related_name="fits"
    )
    number = models.IntegerField()
    cause = models.TextField(choices=Cause)
    # Per model and GPU type: parameters, relative errors, and the range they hold in.
    models_fitted = models.JSONField(default=dict)
    points = models.IntegerField()
    mean_error = models.FloatField(null=True)
    worst_error = models.FloatField(null=True)
    made_at = models.DateTimeField()

    explained = {
        "jobs_profilefit_profile_of_tenant": ConstraintRule(
            "profile_gone", "", "The profile is gone."
        ),
    }

    class Meta:
        constraints = (
            Unique(
                fields=["profile", "number"],
                name="fit_number_once",
                pointer="",
                violation_error_code="fit_exists",
                violation_error_message="The profile has been fitted just now.",
            ),
            Check(
                condition=Q(cause__in=("asked", "profiling", "learned")),
                name="fit_cause",
                pointer="",
                violation_error_code="invalid_cause",
                violation_error_message="A fit is asked for, or follows from measurements.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.profile_id} v{self.number}"


class ProfilingRun(models.Model):
    """A short attempt on one GPU that is taken through CPUs and clocks to measure a profile."""

    class State(models.TextChoices):
        WAITING = "waiting"  # for its turn: profiling takes a bounded share of a cluster
        ADMITTED = "admitted"
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    profile = models.ForeignKey(Profile, models.CASCADE, db_constraint=False, db_index=False)
    cluster = models.ForeignKey("clusters.Cluster", models.PROTECT, db_index=False)
    job = models.OneToOneField("jobs.Job", models.PROTECT, db_constraint=False)
    state = models.TextField(choices=State, default=State.WAITING)
    detail = models.TextField(default="")
    # What was measured so far, in order; see jobs/profiling/steering.py.
    measured = models.JSONField(default=list)
    # Since when the attempt should be at the configuration that is measured next.
    asked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    explained = {
        "job": ConstraintRule("run_exists", "", "The job is of another profiling run."),
        "jobs_profilingrun_job_of_tenant": ConstraintRule(
            "in_use", "", "The job has measured a profile."
        ),
        "jobs_profilingrun_profile_of_tenant": ConstraintRule(
            "profile_gone", "", "The profile is gone."
        ),
    }

    class Meta:
        constraints = (
            Check(
                condition=Q(state__in=("waiting", "admitted", "succeeded", "failed")),
                name="profiling_state",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="There is no such state of a profiling run.",
            ),
            Check(
                condition=Q(state__in=("waiting", "admitted"), ended_at__isnull=True)
                | Q(state__in=("succeeded", "failed"), ended_at__isnull=False),
                name="profiling_ended_when_over",
                pointer="",
                violation_error_code="invalid_state",
                violation_error_message="A profiling run has an end exactly when it is over.",
            ),
        )
        indexes = (
            models.Index(fields=["profile", "-id"], name="profiling_by_profile"),
            models.Index(
                fields=["cluster", "id"],
                name="profiling_live",
                condition=Q(state__in=("waiting", "admitted")),
            ),
        )

    def __str__(self) -> str:
        return f"profiling run {self.pk}"
