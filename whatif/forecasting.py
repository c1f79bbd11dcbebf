"""Makes a forecast: the live snapshot is run forward with the cluster's own policy."""

import logging
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from time import monotonic

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from clusters.models import Cluster
from policies.contract.snapshot import Blocked, JobState, Snapshot
from policies.registry import build
from scheduling.snapshot.load import load_snapshot
from simulator import forecast as pure
from simulator.budget_response import Bounded
from simulator.engine import Pace
from simulator.forecast import estimate
from tenancy.models import Tenant
from whatif.energy_terms import energy_terms
from whatif.history import guess_of
from whatif.models import LIVE, Forecast, ForecastJob, WorkState
from whatif.power_windows import PowerWindows

# The head of the queue, by priority and age; what lies beyond is estimated when it moves up.
JOBS_MAX = 2000
HORIZON = timedelta(days=7)
# Jobs that still run at the horizon are priced until they end.
PRICED_S = 2 * 7 * 86_400
BUDGET_S = 15.0
# Past this, rounds are held at times instead of at every event, which would be one per job.
EVENTFUL_MAX = 300
# A round costs as much as its queue is long: 2,000 jobs get one every five minutes.
SECONDS_PER_JOB = 0.15
SLOW_S = 900.0
SOFT_LIMIT_S, HARD_LIMIT_S = 40, 50

logger = logging.getLogger(__name__)

_CLAIM = """
UPDATE whatif_forecast SET state = 'running', started_at = %s WHERE id = %s AND state = 'queued'
"""

# Rows that somebody else holds are skipped: a forecast is never worth waiting for a lock.
_UPDATE_JOBS = """
WITH expected AS (
    SELECT * FROM unnest(%s::int8[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[])
        AS expected (id, start_at, low_at, high_at)
), free AS (
    SELECT job.id FROM jobs_job job WHERE job.id = ANY(%s) AND job.state = 'queued'
    ORDER BY job.id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE jobs_job job SET forecast_start_at = expected.start_at, forecast_low_at = expected.low_at,
       forecast_high_at = expected.high_at, forecast_at = %s
FROM expected JOIN free ON free.id = expected.id WHERE job.id = expected.id
"""


def make_forecast(forecast_id: int, *, now: datetime) -> None:
    """Harmless when repeated: only a queued forecast is made."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [now, forecast_id])
        if not cursor.rowcount:
            return
    forecast = Forecast.objects.select_related("cluster__tariff").get(pk=forecast_id)
    try:
        _make(forecast, now)
    except Exception as error:  # noqa: BLE001  # whatever a policy does wrong, the forecast says so
        logger.warning("forecast %s failed: %r", forecast_id, error)
        _end(forecast, WorkState.FAILED, error=f"{type(error).__name__}: {error}"[:1000])


def _make(forecast: Forecast, now: datetime) -> None:
    cluster = forecast.cluster
    snapshot = load_snapshot(cluster, now=now, seed=0)
    budgets = PowerWindows(cluster, snapshot)
    windows = budgets.until(now + HORIZON, now=now)
    ends_s = monotonic() + BUDGET_S
    found = estimate(
        budgets.left_out_of(snapshot),
        Bounded(build(forecast.policy, forecast.parameters), windows),
        pace_of(snapshot, cluster),
        guess_of(cluster.pk),
        terms=energy_terms(cluster, now=now, seconds=PRICED_S),
        left_out=left_out(snapshot),
        out_of_time=lambda: monotonic() > ends_s,
    )
    with transaction.atomic():
        _store(forecast, snapshot, found)
        _update_jobs(found, now)
        digest = snapshot.digest()
        _end(forecast, WorkState.SUCCEEDED, made_at=now, snapshot_digest=digest)


def pace_of(snapshot: Snapshot, cluster: Cluster) -> Pace:
    """Rounds follow events as live ones do, and time a little; of many jobs, time alone."""
    queued = min(int((snapshot.jobs.state == JobState.QUEUED).sum()), JOBS_MAX)
    eventful = queued <= EVENTFUL_MAX
    return Pace(
        interval_s=SLOW_S if eventful else max(cluster.round_interval_s, queued * SECONDS_PER_JOB),
        on_events=eventful,
        until_s=snapshot.now_s + HORIZON.total_seconds(),
        patience_s=86_400.0,
        sample_s=math.inf,
    )


def left_out(snapshot: Snapshot) -> set[int]:
    """Jobs beyond the head of the queue, and those of tenants who may start nothing."""
    jobs = snapshot.jobs
    suspended = Tenant.objects.filter(suspended=True).values_list("pk", flat=True)
    stopped = np.isin(snapshot.tenants.id[jobs.tenant], list(suspended))
    candidates = (jobs.state == JobState.QUEUED) & (jobs.blocked == Blocked.NO) & ~stopped
    rows = np.flatnonzero(candidates)
    beyond = rows[np.lexsort((jobs.id[rows], -jobs.priority[rows]))][JOBS_MAX:]
    return {*jobs.id[beyond].tolist(), *jobs.id[stopped].tolist()}


def _store(forecast: Forecast, snapshot: Snapshot, found: pure.QueueForecast) -> None:
    row_of = {job: row for row, job in enumerate(snapshot.jobs.id.tolist())}
    tenants = snapshot.tenants.id[snapshot.jobs.tenant].tolist()
    times = {
        name: [_at(time_s) for time_s in getattr(found, f"{name}_s").tolist()]
        for name in ("start", "start_low", "start_high", "finish", "finish_low", "finish_high")
    }
    ForecastJob.objects.bulk_create(
        ForecastJob(
            forecast=forecast,
            tenant_id=tenants[row_of[job]],
            job_id=job,
            full_energy_j=None if math.isnan(energy_j) else energy_j,
            full_cost=None if math.isnan(cost) else Decimal(repr(cost)).quantize(Decimal("1e-6")),
            **{f"{name}_at": values[at] for name, values in times.items()},
        )
        for at, (job, energy_j, cost) in enumerate(
            zip(
                found.job.tolist(),
                found.full_energy_j.tolist(),
                found.full_cost.tolist(),
                strict=True,
            )
        )
    )


def _update_jobs(found: pure.QueueForecast, now: datetime) -> None:
    """What `explain` shows."""
    columns = [
        [_at(time_s) for time_s in times_s.tolist()]
        for times_s in (found.start_s, found.start_low_s, found.start_high_s)
    ]
    jobs = found.job.tolist()
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE_JOBS, [jobs, *columns, jobs, now])


def _end(forecast: Forecast, state: WorkState, **columns: object) -> None:
    live = Forecast.objects.filter(pk=forecast.pk, state__in=LIVE)
    live.update(state=state, ended_at=timezone.now(), **columns)


def _at(time_s: float) -> datetime | None:
    return None if math.isnan(time_s) else datetime.fromtimestamp(time_s, UTC)
