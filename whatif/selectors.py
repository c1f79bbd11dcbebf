"""Reads of simulations and forecasts; each passes the wall that shows a tenant its own only."""

from django.db.models import (
    Avg,
    Count,
    F,
    FloatField,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Abs, Cast, Coalesce, JSONObject

from tenancy.callers import Caller
from tenancy.selectors import visible
from whatif.models import LIVE, Forecast, ForecastJob, Simulation, SimulationRun


def simulations(caller: Caller) -> QuerySet[Simulation]:
    """With their progress, and without what is large."""
    runs = SimulationRun.objects.filter(simulation=OuterRef("pk")).order_by().values("simulation")
    progress = runs.annotate(
        progress=JSONObject(
            simulated_s=Max("simulated_s"),
            jobs_done=Sum("jobs_done"),
            jobs_total=Coalesce(Sum("jobs_total"), 0),
            runs_done=Count("id", filter=~Q(state__in=LIVE)),
            runs_total=Count("id"),
        )
    )
    rows = visible(Simulation.objects.all(), caller).annotate(
        tenant_name=F("tenant__name"),
        cluster_name=F("cluster__name"),
        progress=Subquery(progress.values("progress")),
    )
    return rows.defer("snapshot", "report", "results")


def runs(simulation: Simulation) -> QuerySet[SimulationRun]:
    own = SimulationRun.objects.filter(simulation=simulation.pk, tenant=simulation.tenant_id)
    return own.defer("series", "metrics").order_by("number")


def forecasts(caller: Caller) -> QuerySet[Forecast]:
    """With the score of those of its jobs that the caller may see."""
    jobs = visible(ForecastJob.objects.filter(forecast=OuterRef("pk")), caller)
    score = (
        jobs.order_by()
        .values("forecast")
        .annotate(
            score=JSONObject(
                jobs=Count("id"),
                scored=Count("error_s"),
                mean_error_s=Avg("error_s"),
                mean_absolute_error_s=Avg(Abs("error_s")),
                within=Avg(Cast(Cast("within", IntegerField()), FloatField())),
            )
        )
    )
    return Forecast.objects.annotate(
        cluster_name=F("cluster__name"),
        currency=F("cluster__currency"),
        score=Subquery(score.values("score")),
    )


def forecast_jobs(caller: Caller, forecast_id: int) -> QuerySet[ForecastJob]:
    return visible(ForecastJob.objects.filter(forecast=forecast_id), caller)
