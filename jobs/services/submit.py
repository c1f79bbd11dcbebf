"""Submitting jobs, one or ten thousand at a time, by the same rules."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from jobs import contradictions
from jobs.models import Job
from jobs.services.drafts import JobDraft, owner_name
from jobs.services.profile_of_job import measured_first, with_inline_profile
from jobs.services.store import Stored, columns_of, submit_drafts
from jobs.services.warnings import Submitted, warnings_for
from jobs.specs import JobSpec
from rest.pointers import pointer
from rest.problems import Fault, Problem
from rest.structs import read
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def job_submit(*, caller: Caller, spec: JobSpec, now: datetime) -> Job:
    contradictions.refuse(contradictions.in_job(spec, now=now))
    draft = JobDraft(spec, owner_name(caller, spec.tenant))
    if spec.points:
        draft = replace(draft, spec=with_inline_profile(draft, now=now))
    if spec.profile_first:
        draft = replace(draft, spec=measured_first(caller, draft, now=now))
    (result,) = submit_drafts([draft], now=now)
    if isinstance(result, Problem):
        raise result
    job = _row(draft, result, now)
    audit.record(caller, "job.submit", job, audited(spec), tenant_id=result.tenant_id)
    (found,) = warnings_for([submitted(draft, result)], now=now)
    job.warnings = found  # type: ignore[attr-defined]
    return job


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of one job of a bulk request."""

    index: int
    id: int | None = None
    problem: Problem | None = None
    warnings: Sequence[Fault] = ()


@transaction.atomic(savepoint=False)
def jobs_submit_bulk(
    *, caller: Caller, items: Sequence[dict[str, Any]], now: datetime
) -> list[ItemResult]:
    """Store the good ones and say what is wrong with the others."""
    judged = [_draft(caller, index, item, now) for index, item in enumerate(items)]
    drafts = [draft for draft in judged if isinstance(draft, JobDraft)]
    results = iter(submit_drafts(drafts, now=now))
    outcomes = [next(results) if isinstance(draft, JobDraft) else draft for draft in judged]
    _audit_bulk(caller, [outcome for outcome in outcomes if isinstance(outcome, Stored)])
    return _told(judged, outcomes, now)


def _told(
    judged: Sequence[JobDraft | Problem], outcomes: Sequence[Stored | Problem], now: datetime
) -> list[ItemResult]:
    stored = [
        submitted(draft, outcome)
        for draft, outcome in zip(judged, outcomes, strict=True)
        if isinstance(draft, JobDraft) and isinstance(outcome, Stored)
    ]
    warnings = iter(warnings_for(stored, now=now))
    return [
        ItemResult(index, problem=outcome)
        if isinstance(outcome, Problem)
        else ItemResult(index, id=outcome.id, warnings=next(warnings))
        for index, outcome in enumerate(outcomes)
    ]


def submitted(draft: JobDraft, stored: Stored) -> Submitted:
    return Submitted(draft.spec, stored.cluster_id, stored.partition_id, draft.path)


def _draft(caller: Caller, index: int, item: dict[str, Any], now: datetime) -> JobDraft | Problem:
    path = ("jobs", index)
    try:
        spec = read(JobSpec, item, *path)
        contradictions.refuse(contradictions.in_job(spec, *path, now=now))
        contradictions.refuse(contradictions.in_one_of_many(spec, *path))
        return JobDraft(spec, owner_name(caller, spec.tenant, pointer((*path, "tenant"))), path)
    except Problem as problem:
        return problem


def audited(spec: JobSpec) -> dict[str, Any]:
    """What the audit keeps of a spec: neither argv nor env, where secrets may stand."""
    min_gpus, max_gpus = spec.gpu_range
    return {
        "name": spec.name,
        "cluster": spec.cluster,
        "min_gpus": min_gpus,
        "max_gpus": max_gpus,
        "priority": spec.priority,
        "held": spec.held,
    }


def _audit_bulk(caller: Caller, stored: Sequence[Stored]) -> None:
    ids = defaultdict(list)
    for row in stored:
        ids[row.tenant_id].append(row.id)
    for tenant_id, job_ids in ids.items():
        changes = {"jobs": len(job_ids), "first_id": job_ids[0], "last_id": job_ids[-1]}
        audit.record(caller, "job.submit_bulk", None, changes, tenant_id=tenant_id)


def _row(draft: JobDraft, stored: Stored, now: datetime) -> Job:
    """The stored job without reading it back: everything in it is known."""
    columns = {**columns_of(draft), "unmet_dependencies": stored.unmet_dependencies}
    job = Job(
        id=stored.id,
        tenant_id=stored.tenant_id,
        cluster_id=stored.cluster_id,
        partition_id=stored.partition_id,
        profile_id=stored.profile_id,
        submitted_at=now,
        **columns,
    )
    names = {
        "tenant_name": draft.tenant,
        "cluster_name": draft.spec.cluster,
        "partition_name": draft.spec.partition,
        "profile_name": draft.spec.profile,
        "profile_basis": stored.profile_basis,
        "archive": draft.spec.workdir.archive if draft.spec.workdir else None,
    }
    for name, value in names.items():
        setattr(job, name, value)
    return job
