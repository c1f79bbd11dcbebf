"""How a kind of job behaves: what was measured of it, and the fits that predict the rest."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target


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
                "profile_name_taken",
                ["tenant", "name"],
                "name_taken: Another profile has this name.",
            ),
            # The target of composite keys: a job cannot name another tenant's profile.
            composite_target("profile"),
            Check(
                "profile_name",
                Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$"),
                "invalid_name: Letters, digits and ._/- make a profile's name.",
            ),
            Check(
                "profile_basis",
                Q(basis__in=("neutral", "measured", "fitted")),
                "invalid_basis: A profile is neutral, measured or fitted.",
                pointer="",
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
                "point_given_once",
                [
                    *("profile", "gpu_type", "gpus", "clock_mhz"),
                    *("cpus_per_gpu", "memory_mib_per_gpu"),
                ],
                "duplicate_point: A configuration is given twice.",
                condition=Q(source="given"),
                nulls_distinct=False,
                pointer="/points",
            ),
            Unique(
                "point_once_per_attempt",
                ["attempt", "clock_mhz", "cpus_per_gpu", "memory_mib_per_gpu"],
                "point_exists: The attempt has taught this already.",
                condition=Q(attempt__isnull=False),
                nulls_distinct=False,
                pointer="",
            ),
            Check(
                "point_source",
                Q(source__in=("given", "profiling", "learned")),
                "invalid_source: A point is given, measured or learned.",
                pointer="",
            ),
            Check(
                "point_configuration",
                Q(gpus__range=(1, 4096))
                & (Q(clock_mhz__isnull=True) | Q(clock_mhz__range=(1, 20_000)))
                & (Q(cpus_per_gpu__isnull=True) | Q(cpus_per_gpu__gt=0, cpus_per_gpu__lte=4096))
                & (
                    Q(memory_mib_per_gpu__isnull=True)
                    | Q(memory_mib_per_gpu__gte=0, memory_mib_per_gpu__lte=2**26)
                ),
                "invalid_point: No GPU runs in such a configuration.",
                pointer="/points",
            ),
            # NaN is above every number to Postgres: the upper bounds keep it out.
            Check(
                "point_figures",
                Q(steps_per_s__gt=0, steps_per_s__lte=1e12, weight__gt=0, weight__lte=1e6)
                & (
                    Q(watts_per_gpu__isnull=True)
                    | Q(watts_per_gpu__gt=0, watts_per_gpu__lte=100_000)
                ),
                "invalid_point: A speed and watts are finite and above 0.",
                pointer="/points",
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
                "fit_number_once",
                ["profile", "number"],
                "fit_exists: The profile has been fitted just now.",
                pointer="",
            ),
            Check(
                "fit_cause",
                Q(cause__in=("asked", "profiling", "learned")),
                "invalid_cause: A fit is asked for, or follows from measurements.",
                pointer="",
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
                "profiling_state",
                Q(state__in=("waiting", "admitted", "succeeded", "failed")),
                "invalid_state: There is no such state of a profiling run.",
                pointer="",
            ),
            Check(
                "profiling_ended_when_over",
                Q(state__in=("waiting", "admitted"), ended_at__isnull=True)
                | Q(state__in=("succeeded", "failed"), ended_at__isnull=False),
                "invalid_state: A profiling run has an end exactly when it is over.",
                pointer="",
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
