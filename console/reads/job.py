"""One job: where it is and why, its attempts and events, how far it came, what it drew."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from energy.ledger.job_energy import JobEnergy, job_energy
from jobs.lifecycle import TERMINAL
from jobs.logs import logs
from jobs.models import Attempt, Job, JobEvent, Log
from jobs.selectors import attempts, job_events, jobs
from rest.problems import NotFound
from scheduling.explain import Explanation, explain
from tenancy.callers import Caller
from tenancy.selectors import visible
from whatif.models import ForecastJob

SHOWN = 50
LOGS_SHOWN = 100
TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Progress:
    share: float
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class JobView:
    job: Job
    explanation: Explanation
    events: list[JobEvent]
    attempts: list[Attempt]
    energy: JobEnergy
    progress: Progress | None
    forecast: ForecastJob | None

    @property
    def live(self) -> bool:
        return self.job.state not in TERMINAL

    @property
    def predicted_mj(self) -> int | None:
        """Of the attempts that have a prediction, GPUs and hosts."""
        known = [a for a in self.energy.attempts if a.predicted_gpu_mj is not None]
        if not known:
            return None
        return sum((a.predicted_gpu_mj or 0) + (a.predicted_host_mj or 0) for a in known)

    @property
    def rows(self) -> list[tuple[Attempt, Any]]:
        drawn = {report.number: report for report in self.energy.attempts}
        return [(attempt, drawn.get(attempt.number)) for attempt in self.attempts]


def one_job(caller: Caller, job_id: int) -> Job:
    found = jobs(caller).select_related("profile").filter(pk=job_id).first()
    if found is None:
        raise NotFound
    return found


def job_view(caller: Caller, job_id: int, *, now: datetime) -> JobView:
    job = one_job(caller, job_id)
    tries = attempts(caller).filter(job=job.pk, tenant=job.tenant_id).order_by("-number")
    newest = list(tries[:SHOWN])
    return JobView(
        job=job,
        explanation=explain(job, now=now),
        events=list(job_events(caller, job.pk).order_by("-pk")[:SHOWN]),
        attempts=newest,
        energy=job_energy(caller, job),
        progress=_progress(job, newest, now),
        forecast=_forecast(caller, job),
    )


def job_logs(caller: Caller, job: Job) -> list[Log]:
    return list(logs(caller, job)[:LOGS_SHOWN])


def _progress(job: Job, tries: list[Attempt], now: datetime) -> Progress | None:
    """By its steps where it says them, else by its estimate; neither is a promise."""
    started = tries[0].started_at if tries else None
    if job.state != Job.State.RUNNING or started is None:
        return None
    ran_s = (now - started).total_seconds()
    if job.work_total and job.work_done:
        share = min(1.0, job.work_done / job.work_total)
        return Progress(share, started + timedelta(seconds=ran_s / share))
    if job.estimated_run_s:
        ends_at = started + timedelta(seconds=job.estimated_run_s)
        return Progress(min(1.0, ran_s / job.estimated_run_s), max(ends_at, now))
    return None


def _forecast(caller: Caller, job: Job) -> ForecastJob | None:
    rows = visible(ForecastJob.objects.filter(job=job.pk, tenant=job.tenant_id), caller)
    return rows.filter(error_s=None, start_at__isnull=False).order_by("-pk").first()
