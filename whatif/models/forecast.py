"""What was expected of a cluster's queue at a moment, job by job, and what came of it."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique
from whatif.models.state import ENDED_WHEN_OVER, LIVE, WorkState


class Forecast(models.Model):
    cluster = models.ForeignKey("clusters.Cluster", models.CASCADE, db_index=False)
    state = models.TextField(choices=WorkState, default=WorkState.QUEUED)
    policy = models.TextField()
    parameters = models.JSONField(default=dict)
    # The moment of the snapshot that was run forward, and its digest.
    made_at = models.DateTimeField(null=True)
    snapshot_digest = models.TextField(default="")
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    explained: ClassVar = {
        "cluster": ConstraintRule(
            "unknown_cluster", "", "The cluster is gone, or still has forecasts."
        )
    }

    class Meta:
        constraints = (
            Unique(
                "one_live_forecast_per_cluster",
                ["cluster"],
                "forecast_under_way: A forecast is being made.",
                condition=Q(state__in=LIVE),
                pointer="",
            ),
            Check(
                "forecast_ended_when_over",
                ENDED_WHEN_OVER,
                "invalid_state: It has an end exactly when it is over.",
                pointer="",
            ),
        )
        indexes = (models.Index(fields=["cluster", "-id"], name="forecast_by_cluster"),)

    def __str__(self) -> str:
        return f"forecast {self.pk}"


class ForecastJob(models.Model):
    """Times are null where they lie beyond what was simulated."""

    forecast = models.ForeignKey(
        Forecast, models.CASCADE, db_index=False, related_name="forecast_jobs"
    )
    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    job = models.ForeignKey("jobs.Job", models.CASCADE, db_constraint=False, db_index=False)
    start_at = models.DateTimeField(null=True)
    start_low_at = models.DateTimeField(null=True)
    start_high_at = models.DateTimeField(null=True)
    finish_at = models.DateTimeField(null=True)
    finish_low_at = models.DateTimeField(null=True)
    finish_high_at = models.DateTimeField(null=True)
    full_energy_j = models.FloatField(null=True)
    full_cost = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    # The score, once the job has really started: how much later than estimated.
    started_at = models.DateTimeField(null=True)
    error_s = models.FloatField(null=True)
    within = models.BooleanField(null=True)

    explained: ClassVar = {
        "tenant": ConstraintRule("in_use", "", "The tenant is gone, or still has forecasts."),
        "forecast": ConstraintRule("forecast_gone", "", "The forecast is gone."),
        "whatif_forecastjob_job_of_tenant": ConstraintRule("job_gone", "", "The job is gone."),
    }

    class Meta:
        constraints = (
            Unique(
                "forecast_job_once",
                ["forecast", "job"],
                "forecast_made: The forecast has been made.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(
                fields=["job"],
                name="forecast_job_unscored",
                condition=Q(error_s__isnull=True, start_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"job {self.job_id} in forecast {self.forecast_id}"
