"""Curves that browsers draw: watts of a day, price and carbon, the GPUs of a job."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Any

from django.db import connection

from clusters.models import Cluster, Gpu
from console.kept import kept
from console.reads.expected_power import expected_watts
from energy.budgets.power import touches, windows
from energy.measured import measured_minutes
from jobs.models import Allocation, Attempt, Job
from policies.pricing.curve import PriceCurve
from tariffs.curves import curves_between
from tenancy.callers import Caller
from tenancy.selectors import visible

DAY = timedelta(days=1)
MINUTE, QUARTER = timedelta(minutes=1), timedelta(minutes=15)
# Points of a curve, where GPUs are few and where each point reads thousands of them.
POINTS, POINTS_OF_MANY, MANY_GPUS = 288, 36, 1000
JOB_GPUS = 64
CURVE_S = 30.0
JOB_POINTS = 240

_JOB = """
SELECT minute.minute_at, sum(minute.mean_mw) / 1000.0, avg(minute.utilisation_pct)::float8,
       max(minute.temperature_c)::float8, avg(minute.clock_mhz)::float8
FROM energy_sampleminute minute
WHERE minute.gpu_id = ANY(%(gpus)s) AND minute.minute_at = ANY(%(minutes)s)
GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    unit: str
    values: list[float | None]
    stepped: bool = False
    dashed: bool = False
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """`times` are seconds since the epoch; the summary says in words what is drawn."""

    times: list[float]
    series: list[Series]
    summary: str


@kept(CURVE_S)
def power_of_day(cluster: Cluster, *, now: datetime) -> Curve:
    """The day that was and the one to come: drawn, expected, and the budget of each moment.

    Drawn are mean watts of picked minutes, hosts estimated.
    """
    gpus = Gpu.objects.filter(node__cluster=cluster).count()
    minutes = picked(now - DAY, now, POINTS if gpus <= MANY_GPUS else POINTS_OF_MANY)
    found = measured_minutes(
        cluster.pk, partition_id=None, from_at=minutes[0], until_at=now, only=minutes
    )
    drawn = {at: watts for at, watts, _ in found}
    ahead = [minutes[-1] + QUARTER * number for number in range(1, 97)]
    expected = expected_watts(cluster, ahead, now=now)
    times = [*minutes, *ahead]
    return Curve(
        [at.timestamp() for at in times],
        [
            Series("Drawn", "kW", _kilo([drawn.get(at) for at in times]), filled=True),
            Series("Budget", "kW", _kilo(_budgets(cluster, times)), stepped=True),
            Series("Expected", "kW", _kilo([*[None] * len(minutes), *expected]), dashed=True),
        ],
        _power_in_words(list(drawn.values()), [w for w in expected if w is not None]),
    )


def _power_in_words(drawn: Sequence[float], expected: Sequence[float]) -> str:
    if not drawn:
        return "Nothing was measured in the last day."
    was = f"At most {max(drawn) / 1000:.1f} kW in the last day"
    return f"{was}, {max(expected) / 1000:.1f} kW expected in the next." if expected else f"{was}."


def _kilo(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else round(value / 1000, 3) for value in values]


def _budgets(cluster: Cluster, minutes: Sequence[datetime]) -> list[float | None]:
    """The cluster's own has no history; windows have."""
    rows = windows(cluster, from_at=minutes[0], until_at=minutes[-1] + MINUTE)
    whole = [row for row in rows if row.partition_id is None]
    own = [float(cluster.power_budget_w)] if cluster.power_budget_w else []
    return [
        min(
            [*own, *(float(row.watts) for row in whole if touches(row, at, at + MINUTE))],
            default=None,
        )
        for at in minutes
    ]


def price_and_carbon(cluster: Cluster, *, now: datetime) -> Curve:
    """From six hours ago to a day ahead, quarter by quarter."""
    start_s = int((now - timedelta(hours=6)).timestamp()) // 900 * 900
    times = list(range(start_s, start_s + 30 * 3600, 900))
    price, carbon = curves_between(cluster, times[0], times[-1] + 900)
    prices = _values(price, times)
    known = [value for value in prices if value is not None]
    return Curve(
        [float(time_s) for time_s in times],
        [
            Series("Price", f"{cluster.currency}/kWh", prices, stepped=True, filled=True),
            Series("Carbon", "g/kWh", _values(carbon, times), stepped=True),
        ],
        f"Between {min(known):.3f} and {max(known):.3f} {cluster.currency} per kWh."
        if known
        else "No price is known.",
    )


def prices_at(cluster: Cluster, times: Sequence[datetime]) -> list[float | None]:
    """At rising times."""
    seconds = [int(at.timestamp()) for at in times]
    price, _ = curves_between(cluster, seconds[0], seconds[-1] + 1)
    return _values(price, seconds)


def gpus_of_job(caller: Caller, job: Job, *, now: datetime) -> Curve:
    """Of the newest attempt, over its first GPUs."""
    attempt = (
        visible(Attempt.objects.filter(job=job.pk, tenant=job.tenant_id), caller)
        .order_by("-number")
        .first()
    )
    if attempt is None:
        return Curve([], [], "It has not run yet.")
    gpus = Allocation.objects.filter(attempt=attempt.pk, tenant=job.tenant_id).order_by("gpu_id")
    ends_at = attempt.ended_at or now
    minutes = picked(max(attempt.offered_at, ends_at - 7 * DAY), ends_at + MINUTE, JOB_POINTS)
    with connection.cursor() as cursor:
        ids = list(gpus.values_list("gpu_id", flat=True)[:JOB_GPUS])
        cursor.execute(_JOB, {"gpus": ids, "minutes": minutes})
        rows = cursor.fetchall()
    return _job_curve(rows, len(ids))


def _job_curve(rows: Sequence[tuple[Any, ...]], gpus: int) -> Curve:
    names = (("Power", "W"), ("Utilisation", "%"), ("Hottest", "°C"), ("Clock", "MHz"))
    values = [[None if v is None else float(v) for v in row[1:]] for row in rows]
    return Curve(
        [row[0].timestamp() for row in rows],
        [Series(*name, [row[i] for row in values]) for i, name in enumerate(names)],
        f"{gpus} GPUs, {len(rows)} minutes." if rows else "No minute has been measured yet.",
    )


def _values(curve: PriceCurve | None, times: Sequence[int]) -> list[float | None]:
    if curve is None:
        return [None] * len(times)
    return [None if isnan(value) else value for value in curve.price_at(times).tolist()]


def picked(from_at: datetime, until_at: datetime, most: int) -> list[datetime]:
    """Full minutes of the span at equal distances, the same ones a moment later."""
    first, last = int(from_at.timestamp()) // 60, int(until_at.timestamp()) // 60
    step = max(1, -(-(last - first) // most))
    start = -(-first // step) * step
    found = range(start, max(last, start + 1), step)
    return [datetime.fromtimestamp(minute * 60, UTC) for minute in found]
