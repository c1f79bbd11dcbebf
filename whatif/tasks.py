"""Celery's tasks: each reads the clock, calls one service and does nothing else."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from clusters.models import Cluster
from jobs.models import Job
from whatif import claims, dispatch, forecasting, running, scoring
from whatif.services import forecast_request

FORECAST_EVERY = timedelta(seconds=30)


@shared_task(
    name=dispatch.RUN, soft_time_limit=running.SOFT_LIMIT_S, time_limit=running.HARD_LIMIT_S
)
def run_simulation(run_id: int) -> None:
    running.run_claimed(run_id, now=timezone.now())


@shared_task(
    name=dispatch.FORECAST,
    soft_time_limit=forecasting.SOFT_LIMIT_S,
    time_limit=forecasting.HARD_LIMIT_S,
)
def make_forecast(forecast_id: int) -> None:
    forecasting.make_forecast(forecast_id, now=timezone.now())


@shared_task(name="whatif.tick")
def tick() -> None:
    """Ask for a forecast of every cluster in which jobs wait; one that is fresh will do."""
    now = timezone.now()
    scoring.give_up(now=now)
    waiting = Job.objects.filter(state=Job.State.QUEUED).values("cluster").distinct()
    for cluster in Cluster.objects.filter(pk__in=waiting).order_by("pk"):
        forecast_request(cluster, now=now, fresh=FORECAST_EVERY)


@shared_task(name="whatif.sweep")
def sweep() -> None:
    """Score, forget, and wake workers for what others left behind."""
    now = timezone.now()
    scoring.score_forecasts()
    scoring.forget(now=now)
    dispatch.send(dispatch.RUN, claims.abandoned(now=now))
