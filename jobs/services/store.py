"""One statement that stores any number of jobs with their first events.

The jobs travel as two JSON documents, so that one job and ten thousand take the same round trip and
the same rules, and so that the spec of an array travels once. Names are resolved on the way; a job
with an unknown name is left out and its row says which. Ids are drawn before the insert: RETURNING
alone could not say whose is whose.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import connection
from msgspec import to_builtins

from jobs.models import Job
from jobs.nudge import nudge
from jobs.prepared_statements import fetch
from jobs.sealed_env import sealed_env
from jobs.services.drafts import JobDraft
from jobs.services.inputs import with_inputs
from jobs.services.predecessors import counted, link, links_of, lock_predecessors
from jobs.specs import JobSpec
from rest.json import encode
from rest.pointers import pointer
from rest.problems import Conflict, Problem


@dataclass(frozen=True, slots=True)
class Stored:
    id: int
    tenant_id: int
    cluster_id: int
    partition_id: int | None
    profile_id: int | None
    profile_basis: str
    unmet_dependencies: int


class _Found(NamedTuple):
    """What the statement below returns; an id is missing where its name is unknown."""

    id: int
    tenant_id: int | None
    cluster_id: int | None
    partition_id: int | None
    profile_id: int | None
    profile_basis: str | None
    price_bound: Decimal | None


# From so many jobs on, foreign keys are checked by plans made for many rows: a connection that
# first saw the tables nearly empty would else read all of them for every row (39 s for 10,000).
MANY = 1000
RETRIED = (Job.RetryOn.EXIT, Job.RetryOn.SIGNAL)
# The job's columns that a spec or a draft names; what else they name is resolved to an id.
_DRAFTED = {field.name for field in fields(JobDraft)}
_SAID = {
    *JobSpec.__struct_fields__,
    *_DRAFTED,
    *("sealed_env", "env_names", "git_url", "git_commit"),
}
_COLUMNS = {
    field.column: field.db_type(connection)
    for field in Job._meta.concrete_fields
    if field.column in _SAID
}
_OF_SPEC = [name for name in _COLUMNS if name in JobSpec.__struct_fields__]
# What differs between the jobs of an array, whose spec travels once.
_OF_DRAFT = {name: kind for name, kind in _COLUMNS.items() if name in _DRAFTED}
_values_of = attrgetter(*_OF_SPEC)
_REFERENCES = ("cluster", "partition", "profile")
_IDS = ("id", "tenant_id", *(f"{name}_id" for name in _REFERENCES))
_FIRST = {
    "state": "'queued'",
    "reason": "'submitted'",
    "submitted_at": "%(now)s",
    "work_done": "0",
    "attained_gpu_s": "0",
    "version": "1",
}
_SPEC_SHAPE = ", ".join(
    f"{name} {kind}" for name, kind in _COLUMNS.items() if name not in _OF_DRAFT
)
_DRAFT_SHAPE = ", ".join(f"{name} {kind}" for name, kind in _OF_DRAFT.items())

_STORE = f"""
WITH draft AS (
    SELECT nextval('jobs_job_id_seq') AS id, wanted.* FROM (
        SELECT one.index, {", ".join(f"one.{name}" for name in _OF_DRAFT)},
               item.*, owner.id AS tenant_id, domain.id AS cluster_id, slice.id AS partition_id,
               kind.id AS profile_id, kind.basis AS profile_basis,
               coalesce(owner.max_tardiness_price_per_h, domain.max_tardiness_price_per_h)
                   AS price_bound
        FROM jsonb_to_recordset(%(drafts)s::jsonb) AS one (index int4, spec int4, {_DRAFT_SHAPE})
        JOIN jsonb_to_recordset(%(specs)s::jsonb) AS item
             (number int4, tenant text, cluster text, partition text, profile text, {_SPEC_SHAPE})
             ON item.number = one.spec
        LEFT JOIN tenancy_tenant owner ON owner.name = item.tenant
        LEFT JOIN clusters_cluster domain ON domain.name = item.cluster
        LEFT JOIN clusters_partition slice
               ON slice.cluster_id = domain.id AND slice.name = item.partition
        LEFT JOIN jobs_profile kind ON kind.tenant_id = owner.id AND kind.name = item.profile
        ORDER BY one.index
    ) wanted
), stored AS (
    INSERT INTO jobs_job
        ({", ".join([*_IDS, *_COLUMNS, *_FIRST])})
    SELECT {", ".join([*_IDS, *_COLUMNS, *_FIRST.values()])}
    FROM draft
    WHERE tenant_id IS NOT NULL AND cluster_id IS NOT NULL
      AND (partition IS NULL) = (partition_id IS NULL)
      AND (profile IS NULL) = (profile_id IS NULL)
      AND tardiness_price_per_h <= price_bound
    RETURNING id, tenant_id
), announced AS (
    INSERT INTO jobs_jobevent (tenant_id, job_id, at, from_state, to_state, reason, detail)
    SELECT tenant_id, id, %(now)s, NULL, 'queued', 'submitted', '{{}}' FROM stored ORDER BY id
)
SELECT {", ".join(_Found._fields)} FROM draft ORDER BY index
"""  # noqa: S608  # only the names of columns above are interpolated


def submit_drafts(drafts: Sequence[JobDraft], *, now: datetime) -> list[Stored | Problem]:
    """Store what can be stored, wake the schedulers; one result per draft, in their order."""
    if not drafts:
        return []
    known = lock_predecessors(drafts)
    judged = [
        counted(draft, known) if isinstance(draft, JobDraft) else draft
        for draft in with_inputs(drafts, now=now)
    ]
    sound = [draft for draft in judged if isinstance(draft, JobDraft)]
    stored = _store(sound, now) if sound else []
    link(
        [
            row
            for draft, result in zip(sound, stored, strict=True)
            if draft.spec.depends_on and isinstance(result, Stored)
            for row in links_of(
                draft, job_id=result.id, tenant_id=result.tenant_id, known=known, now=now
            )
        ]
    )
    for cluster_id in {result.cluster_id for result in stored if isinstance(result, Stored)}:
        nudge(cluster_id)
    results = iter(stored)
    return [next(results) if isinstance(draft, JobDraft) else draft for draft in judged]


def columns_of(draft: JobDraft) -> dict[str, Any]:
    """The values of the job's columns, apart from those that are resolved or always the same."""
    columns = dict(zip(_OF_SPEC, _values_of(draft.spec), strict=True))
    columns["min_gpus"], columns["max_gpus"] = draft.spec.gpu_range
    columns["span"] = draft.spec.widest
    columns |= _of_workload(draft)
    columns["array_id"] = draft.array_id
    columns["array_index"] = draft.array_index
    columns["unmet_dependencies"] = draft.unmet_dependencies
    return columns


def _of_workload(draft: JobDraft) -> dict[str, Any]:
    """What the spec says in another form than it is stored in."""
    spec = draft.spec
    return {
        "workdir_id": draft.workdir_id,
        "git_url": spec.workdir.git if spec.workdir else None,
        "git_commit": spec.workdir.commit if spec.workdir else None,
        "sealed_env": sealed_env(spec.env, draft.tenant),
        "env_names": sorted(spec.env),
        "mounts": [to_builtins(mount) for mount in spec.mounts],
        "artifacts": [to_builtins(artifact) for artifact in spec.artifacts],
        "secrets": [to_builtins(use) for use in spec.secrets],
        "retry_on": sorted(set(spec.retry_on or RETRIED)) if spec.max_retries else [],
    }


def _store(drafts: Sequence[JobDraft], now: datetime) -> list[Stored | Conflict]:
    """Store the drafts whose names all exist; one result per draft, in their order."""
    numbers: dict[tuple[int, str], int] = {}
    specs: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    for index, draft in enumerate(drafts):
        spec = id(draft.spec), draft.tenant
        if spec not in numbers:
            numbers[spec] = len(specs)
            specs.append(_spec(numbers[spec], draft))
        own.append({"index": index, "spec": numbers[spec], **_own(draft)})
    values = {"specs": encode(specs).decode(), "drafts": encode(own).decode(), "now": now}
    if len(drafts) >= MANY:
        with connection.cursor() as cursor:
            cursor.execute("DISCARD PLANS")
    rows = fetch(_STORE, values)
    return [_result(draft, _Found(*row)) for draft, row in zip(drafts, rows, strict=True)]


def _own(draft: JobDraft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in _OF_DRAFT}


def _spec(number: int, draft: JobDraft) -> dict[str, Any]:
    columns = columns_of(draft)
    item = {name: value for name, value in columns.items() if name not in _OF_DRAFT}
    item["number"], item["tenant"] = number, draft.tenant
    for name in _REFERENCES:
        item[name] = getattr(draft.spec, name)
    return item


def _result(draft: JobDraft, found: _Found) -> Stored | Conflict:
    spec = draft.spec
    if found.tenant_id is None:
        return _unknown(draft, "tenant", "There is no such tenant.")
    if found.cluster_id is None:
        return _unknown(draft, "cluster", "There is no such cluster.")
    if spec.partition is not None and found.partition_id is None:
        return _unknown(draft, "partition", "The cluster has no such partition.")
    if spec.profile is not None and found.profile_id is None:
        return _unknown(draft, "profile", "The tenant has no such profile.")
    if found.price_bound is not None and spec.tardiness_price_per_h > found.price_bound:
        return price_above_bound(found.price_bound, *draft.path)
    return Stored(
        id=found.id,
        tenant_id=found.tenant_id,
        cluster_id=found.cluster_id,
        partition_id=found.partition_id,
        profile_id=found.profile_id,
        profile_basis=found.profile_basis or "neutral",
        unmet_dependencies=draft.unmet_dependencies,
    )


def price_above_bound(bound: Decimal, *path: str | int) -> Conflict:
    """What operators let a tenant promise for its lateness is what its word counts for."""
    at = pointer((*path, "tardiness_price_per_h"))
    detail = f"At most {bound.normalize():f} per hour here; an operator may raise the bound."
    conflict: Conflict = Conflict.at(at, "price_above_bound", detail)
    return conflict


def _unknown(draft: JobDraft, field: str, detail: str) -> Conflict:
    conflict: Conflict = Conflict.at(pointer((*draft.path, field)), f"unknown_{field}", detail)
    return conflict
