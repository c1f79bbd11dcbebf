"""Many jobs of one kind, submitted as one."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from jobs import contradictions
from jobs.models import JobArray
from jobs.services.drafts import JobDraft, owner_id, owner_name
from jobs.services.store import Stored, submit_drafts
from jobs.services.submit import audited, submitted
from jobs.services.warnings import warnings_for
from jobs.specs import ArraySpec
from rest.json import encode
from rest.problems import Contradiction, Problem
from tenancy import audit
from tenancy.callers import Caller

# Every job of an array has its own argv, env and labels in the table.
STORED_BYTES_MAX = 256 * 1024 * 1024


def _refuse_if_large(spec: ArraySpec) -> None:
    size = len(encode([spec.job.argv, spec.job.env, spec.job.labels])) * spec.size
    if size > STORED_BYTES_MAX:
        detail = (
            f"Its argv, env and labels come to {size >> 20} MiB over all jobs; at most"
            f" {STORED_BYTES_MAX >> 20} MiB fit. Keep what is large in a file that each job reads."
        )
        raise Contradiction.at("/job", "array_too_large", detail)


@transaction.atomic(savepoint=False)
def array_submit(*, caller: Caller, spec: ArraySpec, now: datetime) -> JobArray:
    """All of its jobs or none: a problem with one is a problem with every one."""
    contradictions.refuse(contradictions.in_job(spec.job, "job", now=now))
    contradictions.refuse(contradictions.in_one_of_many(spec.job, "job"))
    _refuse_if_large(spec)
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
    stored = _all_stored(submit_drafts(drafts, now=now))
    changes = {"name": spec.name, "size": spec.size, "job": audited(spec.job)}
    audit.record(caller, "array.submit", array, changes, tenant_id=array.tenant_id)
    array.tenant_name = tenant  # type: ignore[attr-defined]
    (found,) = warnings_for([submitted(drafts[0], stored[0])], now=now)
    array.warnings = found  # type: ignore[attr-defined]
    return array


def _all_stored(results: Iterable[Stored | Problem]) -> list[Stored]:
    stored = []
    for result in results:
        if isinstance(result, Problem):
            raise result
        stored.append(result)
    return stored
