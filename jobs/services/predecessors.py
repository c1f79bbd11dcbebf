"""Dependencies of jobs that are being submitted, on jobs that may end at this very moment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection

from jobs.lifecycle import TERMINAL
from jobs.models import Job
from jobs.services.drafts import JobDraft
from rest.pointers import pointer
from rest.problems import Conflict, Contradiction

# A request may name a hundred predecessors per job and ten thousand jobs, but not both.
LINKS_MAX = 100_000

# `lifecycle.advance` takes FOR UPDATE before it ends a job, and looks for dependents afterwards.
# Either it waits for this lock and then sees our rows, or we wait and then see the end.
_LOCK = """
SELECT job.id, owner.name, job.state
FROM jobs_job job JOIN tenancy_tenant owner ON owner.id = job.tenant_id
WHERE job.id = ANY(%s) AND owner.name = ANY(%s)
ORDER BY job.id FOR KEY SHARE OF job
"""

_COLUMNS = {
    "tenant_id": "int8",
    "job_id": "int8",
    "on_job_id": "int8",
    "kind": "text",
    "met_at": "timestamptz",
}
_LINK = f"""
INSERT INTO jobs_jobdependency ({", ".join(_COLUMNS)})
SELECT * FROM unnest({", ".join(f"%({name})s::{kind}[]" for name, kind in _COLUMNS.items())})
"""  # noqa: S608  # only the names of columns above are interpolated


@dataclass(frozen=True, slots=True)
class Predecessor:
    tenant: str
    state: Job.State

    def is_met(self, kind: str) -> bool:
        return self.state == Job.State.SUCCEEDED or (kind == "ended" and self.state in TERMINAL)

    def is_hopeless(self, kind: str) -> bool:
        return self.state in TERMINAL and not self.is_met(kind)


Predecessors = dict[int, Predecessor]


def lock_predecessors(drafts: Sequence[JobDraft]) -> Predecessors:
    """Hold what the drafts depend on as it is until the transaction ends."""
    wanted = [dependency.job for draft in drafts for dependency in draft.spec.depends_on]
    if not wanted:
        return {}
    if len(wanted) > LINKS_MAX:
        detail = f"One request may name {LINKS_MAX} dependencies; send it in parts."
        raise Contradiction(detail, code="too_many_dependencies")
    tenants = {draft.tenant for draft in drafts}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [sorted(set(wanted)), list(tenants)])
        rows = cursor.fetchall()
    return {job: Predecessor(tenant, Job.State(state)) for job, tenant, state in rows}


def counted(draft: JobDraft, known: Predecessors) -> JobDraft | Conflict:
    """The draft with its unmet dependencies counted, or why it can never run."""
    unmet = 0
    for index, dependency in enumerate(draft.spec.depends_on):
        at = pointer((*draft.path, "depends_on", index, "job"))
        predecessor = known.get(dependency.job)
        if predecessor is None or predecessor.tenant != draft.tenant:
            unknown: Conflict = Conflict.at(at, "unknown_job", "There is no such job.")
            return unknown
        if predecessor.is_hopeless(dependency.kind):
            detail = f"That job has {predecessor.state}, so this one could never run."
            hopeless: Conflict = Conflict.at(at, "dependency_failed", detail)
            return hopeless
        unmet += not predecessor.is_met(dependency.kind)
    return replace(draft, unmet_dependencies=unmet) if unmet else draft


@dataclass(frozen=True, slots=True)
class DependencyRow:
    tenant_id: int
    job_id: int
    on_job_id: int
    kind: str
    met_at: datetime | None


def links_of(
    draft: JobDraft, *, job_id: int, tenant_id: int, known: Predecessors, now: datetime
) -> list[DependencyRow]:
    return [
        DependencyRow(
            tenant_id=tenant_id,
            job_id=job_id,
            on_job_id=dependency.job,
            kind=dependency.kind.value,
            met_at=now if known[dependency.job].is_met(dependency.kind) else None,
        )
        for dependency in draft.spec.depends_on
    ]


def link(links: Sequence[DependencyRow]) -> None:
    if not links:
        return
    values = {name: [getattr(row, name) for row in links] for name in _COLUMNS}
    with connection.cursor() as cursor:
        cursor.execute(_LINK, values)
