"""A day of real rounds: jobs come, are placed by the cluster's policy, run and end."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from clusters.models import Cluster
from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job, JobEvent
from lab.screenshots.story.kinds import KINDS, LAST, Kind
from lab.screenshots.story.people import People
from scheduler_service.factories import make_jobs
from scheduling.round import decide
from whatif.forecasting import make_forecast
from whatif.models import Forecast

LENGTH = timedelta(hours=28)
COARSE, FINE = timedelta(minutes=60), timedelta(minutes=10)
# Beyond this, ends and starts are seen to the ten minutes.
FINE_FROM = timedelta(hours=2)


def live_through(cluster: Cluster, people: People, *, now: datetime) -> None:
    waiting = sorted(_submissions(now), key=lambda each: each[0])
    for at in _steps(now):
        while waiting and waiting[0][0] <= at:
            submitted_at, kind = waiting.pop(0)
            _submit(cluster, people, kind, submitted_at)
        _end_those_due(at)
        decide(cluster.pk, now=at)
        _start(at)
    _make_progress(now)


def expect(cluster: Cluster, *, now: datetime) -> None:
    """When the jobs that wait will start; it is run forward for seconds."""
    forecast = Forecast.objects.create(
        cluster=cluster, policy=cluster.policy, parameters=cluster.policy_parameters
    )
    make_forecast(forecast.pk, now=now)


def _steps(now: datetime) -> Iterator[datetime]:
    at = now - LENGTH
    while at < now:
        yield at
        at += COARSE if at < now - FINE_FROM else FINE
    yield now


def _submissions(now: datetime) -> Iterator[tuple[datetime, Kind]]:
    for kind in (*KINDS, *LAST):
        ago_h = kind.first_h
        while ago_h > 0:
            yield now - timedelta(hours=ago_h), kind
            ago_h -= kind.every_h


def _submit(cluster: Cluster, people: People, kind: Kind, at: datetime) -> None:
    tenant = people.tenants[kind.tenant]
    fields: dict[str, Any] = {"submitted_at": at, "min_gpus": kind.gpus, "max_gpus": kind.gpus}
    fields["processes"] = "per_node"
    said = {"labels": kind.labels, "estimated_run_s": int(kind.hours * 3600), **kind.fields}
    (job,) = make_jobs(cluster, tenant, 1, **fields, **said)
    Job.objects.filter(pk=job.pk).update(name=kind.name)
    JobEvent.objects.create(
        tenant=tenant, job=job, at=at, from_state="", to_state="queued", reason="submitted"
    )


def _start(at: datetime) -> None:
    """Half a minute passes between the offer and the first step."""
    offered = Attempt.objects.filter(state="offered")
    jobs = list(offered.values_list("job_id", flat=True))
    began_at = at + timedelta(seconds=30)
    offered.update(state="running", started_at=began_at, run_lease_s=900)
    advance(jobs, sources=[State.PLACED], to=State.RUNNING, reason="started", now=began_at)


def _end_those_due(at: datetime) -> None:
    running = Attempt.objects.filter(state="running").annotate(run_s=F("job__estimated_run_s"))
    for attempt in running.order_by("pk"):
        ends_at = (attempt.started_at or at) + timedelta(seconds=attempt.run_s)
        if ends_at <= at:
            _end(attempt, ends_at, failed=attempt.pk % 13 == 0)


def _end(attempt: Attempt, at: datetime, *, failed: bool) -> None:
    reason, to = ("exited", State.FAILED) if failed else ("completed", State.SUCCEEDED)
    attempts_end([attempt.pk], state=Attempt.State.ENDED, reason=reason, now=at)
    if failed:
        Attempt.objects.filter(pk=attempt.pk).update(exit_code=1, detail="exit code 1")
    advance([attempt.job_id], sources=[State.RUNNING], to=to, reason=reason, now=at)


def _make_progress(now: datetime) -> None:
    for job in Job.objects.filter(state="running", work_total__isnull=False):
        ran_s = (now - (job.started_at or now)).total_seconds()
        share = min(0.98, ran_s / (job.estimated_run_s or 1))
        Job.objects.filter(pk=job.pk).update(work_done=int((job.work_total or 0) * share))
