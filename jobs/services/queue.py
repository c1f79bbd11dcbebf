"""What may be done with a job that still waits: change its claims, hold it, release it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from jobs import contradictions
from jobs.lifecycle import State
from jobs.models import Job, ProfilingRun
from jobs.nudge import nudge
from jobs.selectors import locked_job, tardiness_bound
from jobs.services.store import price_above_bound
from rest.etag import update_versioned
from rest.problems import Conflict
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def job_update(*, caller: Caller, job: Job, changes: Mapping[str, Any], now: datetime) -> Job:
    """A move bumps the version, so `update_versioned` also refuses what is no longer queued."""
    _refuse_unless_queued(job)
    if changes.get("deadline_at", job.deadline_at) != job.deadline_at:
        contradictions.refuse(contradictions.in_deadline(changes["deadline_at"], now=now))
    price_per_h = changes.get("tardiness_price_per_h", job.tardiness_price_per_h)
    if price_per_h != job.tardiness_price_per_h and price_per_h > (bound := tardiness_bound(job)):
        raise price_above_bound(bound)
    update_versioned(job, changes)
    audit.record(caller, "job.update", job, changes, tenant_id=job.tenant_id)
    nudge(job.cluster_id)
    return job


@transaction.atomic(savepoint=False)
def job_hold(*, caller: Caller, job_id: int) -> Job:
    """Keep it from starting; its place in the queue stays. Holding twice changes nothing."""
    job = locked_job(caller, job_id)
    _refuse_unless_queued(job)
    if not job.held:
        _set_held(caller, job, held=True)
    return job


@transaction.atomic(savepoint=False)
def job_release(*, caller: Caller, job_id: int) -> Job:
    job = locked_job(caller, job_id)
    _refuse_unless_queued(job)
    if job.held:
        _refuse_out_of_turn(job)
        _set_held(caller, job, held=False)
        nudge(job.cluster_id)
    return job


def _set_held(caller: Caller, job: Job, *, held: bool) -> None:
    update_versioned(job, {"held": held})
    action = "job.hold" if held else "job.release"
    audit.record(caller, action, job, {"held": held}, tenant_id=job.tenant_id)


def _refuse_out_of_turn(job: Job) -> None:
    """Profiling takes a bounded share of a cluster; its runs are let in one after the other."""
    if ProfilingRun.objects.filter(job=job, state=ProfilingRun.State.WAITING).exists():
        detail = "It is a profiling run and starts when its turn has come."
        raise Conflict(detail, code="profiling_waits")


def _refuse_unless_queued(job: Job) -> None:
    if job.state != State.QUEUED:
        detail = f"The job is {job.state}; only queued jobs can be changed, held or released."
        raise Conflict(detail, code="job_not_queued")
