"""What a job drew so far, attempt by attempt, beside what was expected of it."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, F

from energy.ledger.sums import SUMS, ledger, totals
from energy.models import Meter
from jobs.models import Attempt, Job
from tenancy.callers import Caller
from tenancy.selectors import visible

# A year of hours.
WINDOWS_MOST = 8784


@dataclass(frozen=True, slots=True)
class AttemptEnergyReport:
    number: int
    state: str
    predicted_gpu_mj: int | None
    predicted_host_mj: int | None
    predicted_by: str | None
    gpu_mj: int
    # Of the prediction, as a share of what was counted; None while it runs.
    prediction_error: float | None
    meters: list[dict[str, Any]]
    windows: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class JobEnergy:
    job_id: int
    totals: list[dict[str, Any]]
    # Counted, but not yet in the ledger.
    open_mj: int
    attempts: list[AttemptEnergyReport]


def job_energy(caller: Caller, job: Job) -> JobEnergy:
    rows = ledger(caller).filter(attempt__job=job, tenant=job.tenant_id)
    meters, windows = defaultdict(list), defaultdict(list)
    for meter in _meters(caller, job):
        meters[meter["attempt_id"]].append(meter)
    for window in _windows(rows):
        windows[window["attempt_id"]].append(window)
    attempts = visible(Attempt.objects.filter(job=job, tenant=job.tenant_id), caller)
    sums = totals(rows)
    counted_mj = sum(meter["gpu_mj"] for each in meters.values() for meter in each)
    return JobEnergy(
        job_id=job.pk,
        totals=sums,
        open_mj=counted_mj - sum(total["total_gpu_mj"] for total in sums),
        attempts=[
            _attempt(attempt, meters[attempt.pk], windows[attempt.pk])
            for attempt in attempts.order_by("number")
        ],
    )


def _attempt(
    attempt: Attempt, meters: list[dict[str, Any]], windows: list[dict[str, Any]]
) -> AttemptEnergyReport:
    gpu_mj = sum(meter["gpu_mj"] for meter in meters)
    over = attempt.state in (Attempt.State.ENDED, Attempt.State.LOST)
    comparable = over and gpu_mj > 0 and attempt.predicted_gpu_mj is not None
    return AttemptEnergyReport(
        number=attempt.number,
        state=attempt.state,
        predicted_gpu_mj=attempt.predicted_gpu_mj,
        predicted_host_mj=attempt.predicted_host_mj,
        predicted_by=attempt.predicted_by,
        gpu_mj=gpu_mj,
        prediction_error=(attempt.predicted_gpu_mj or 0) / gpu_mj - 1 if comparable else None,
        meters=meters,
        windows=windows,
    )


def _meters(caller: Caller, job: Job) -> Any:
    rows = visible(Meter.objects.filter(attempt__job=job, tenant=job.tenant_id), caller)
    return rows.order_by("attempt_id", "gpu__node_id", "gpu__index").values(
        *("attempt_id", "start_mj", "now_mj", "integrated", "final", "since_at", "until_at"),
        node=F("gpu__node__name"),
        uuid=F("gpu__uuid"),
        gpu_mj=F("now_mj") - F("start_mj"),
    )


def _windows(rows: Any) -> Any:
    """Over the GPUs of an attempt; what was corrected away is not shown."""
    terms = ("method", "pue", "price_per_kwh", "g_per_kwh", "currency")
    found = (
        rows.order_by("attempt_id", "starts_at")
        .values("attempt_id", "starts_at", "ends_at", *terms)
        .annotate(**SUMS, covered=Avg("coverage"))
    )
    return [row for row in found[:WINDOWS_MOST] if row["total_gpu_mj"] or row["total_host_mj"]]
