"""How good past forecasts were, and how long they are kept."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Q

from whatif.models import LIVE, Forecast, Simulation, WorkState

# A forecast waits for simulations to end, but is not worked at for longer than its time limit.
WAITS_AT_MOST, WORKS_AT_MOST = timedelta(minutes=15), timedelta(minutes=2)
KEEP = timedelta(days=7)
KEEP_SIMULATIONS = timedelta(days=30)
# Forecasts come every half a minute: after an hour, one in ten minutes says as much.
DENSE = timedelta(hours=1)

_SCORE = """
WITH begun AS (
    SELECT DISTINCT ON (estimated.id) estimated.id, attempt.started_at
    FROM whatif_forecastjob estimated
    JOIN whatif_forecast forecast ON forecast.id = estimated.forecast_id
    JOIN jobs_job job ON job.id = estimated.job_id AND job.state <> 'queued'
    JOIN jobs_attempt attempt ON attempt.job_id = estimated.job_id
         AND attempt.started_at >= forecast.made_at
    WHERE estimated.error_s IS NULL AND estimated.start_at IS NOT NULL
    ORDER BY estimated.id, attempt.started_at
)
UPDATE whatif_forecastjob estimated SET
    started_at = begun.started_at,
    error_s = extract(epoch FROM begun.started_at - estimated.start_at),
    within = begun.started_at BETWEEN estimated.start_low_at AND estimated.start_high_at
FROM begun WHERE estimated.id = begun.id
"""

_TOO_DENSE = """
SELECT id FROM (
    SELECT id, row_number() OVER (
        PARTITION BY cluster_id, date_bin('10 minutes', created_at, 'epoch') ORDER BY id) AS place
    FROM whatif_forecast WHERE created_at < %s AND state NOT IN ('queued', 'running')
) dense WHERE place > 1
"""


def score_forecasts() -> int:
    """Compare what has started since with what was estimated; returns how many were scored."""
    with connection.cursor() as cursor:
        cursor.execute(_SCORE)
        return int(cursor.rowcount)


def forget(*, now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TOO_DENSE, [now - DENSE])
        dense = [row[0] for row in cursor.fetchall()]
    Forecast.objects.filter(pk__in=dense).delete()
    Forecast.objects.filter(created_at__lt=now - KEEP).exclude(state__in=LIVE).delete()
    old = Simulation.objects.filter(created_at__lt=now - KEEP_SIMULATIONS)
    old.exclude(state__in=LIVE).delete()


def give_up(*, now: datetime) -> int:
    """Fail forecasts that no worker will end, so that the next one can be asked for."""
    waiting = Q(state=WorkState.QUEUED, created_at__lt=now - WAITS_AT_MOST)
    working = Q(state=WorkState.RUNNING, started_at__lt=now - WORKS_AT_MOST)
    stuck = Forecast.objects.filter(waiting | working)
    return stuck.update(state=WorkState.FAILED, ended_at=now, error="No worker ended it in time.")
