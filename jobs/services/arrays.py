"""Many jobs of one kind, submitted as one."""

from datetime import datetime

from django.db import transaction

from jobs import contradictions
from jobs.models import JobArray
from jobs.services.drafts import JobDraft, owner_id, owner_name
from jobs.services.store import submit_drafts
from jobs.services.submit import audited
from jobs.specs import ArraySpec
from rest.problems import Problem
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def array_submit(*, caller: Caller, spec: ArraySpec, now: datetime) -> JobArray:
    """All of its jobs or none: a problem with one is a problem with every one."""
    contradictions.refuse(contradictions.in_job(spec.job, "job"))
    contradictions.refuse(contradictions.in_one_of_many(spec.job, "job"))
    tenant = owner_name(caller, spec.job.tenant, "/job/tenant")
    array = JobArray.objects.create(
        tenant_id=owner_id(caller, spec.job.tenant, "/job/tenant"),
        name=spec.name,
        size=spec.size,
        created_at=now,
    )
    drafts = [
        JobDraft(spec.job, tenant, ("job",), array_id=array.pk, array_index=index)
        for index in range(spec.size)
    ]
    for result in submit_drafts(drafts, now=now):
        if isinstance(result, Problem):
            raise result
    changes = {"name": spec.name, "size": spec.size, "job": audited(spec.job)}
    audit.record(caller, "array.submit", array, changes, tenant_id=array.tenant_id)
    array.tenant_name = tenant  # type: ignore[attr-defined]
    return array
