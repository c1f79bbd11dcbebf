"""One statement that stores any number of jobs with their first events.

The jobs travel as one JSON document, so that one job and ten thousand take the same round trip
and the same rules. Names are resolved on the way; a job with an unknown name is left out and its
row says which. Ids are drawn before the insert: RETURNING alone could not say whose is whose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from jobs.prepared_statements import fetch
from jobs.specs import JobSpec
from rest.json import encode
from rest.pointers import pointer
from rest.problems import Conflict


@dataclass(frozen=True, slots=True)
class Draft:
    """A job about to be stored; `path` is where its spec stands in the request's body."""

    spec: JobSpec
    tenant: str
    path: tuple[str | int, ...] = ()
    array_id: int | None = None
    array_index: int | None = None
    unmet_dependencies: int = 0


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


_COLUMNS = {
    "array_id": "int8",
    "array_index": "int4",
    "name": "text",
    "argv": "text[]",
    "env": "jsonb",
    "image": "text",
    "min_gpus": "int4",
    "max_gpus": "int4",
    "gpu_types": "text[]",
    "cpus_per_gpu": "int4",
    "memory_mib_per_gpu": "int4",
    "span": "text",
    "priority": "int2",
    "deadline_at": "timestamptz",
    "tardiness_price_per_h": "numeric",
    "estimated_run_s": "int4",
    "work_total": "float8",
    "preemptible": "bool",
    "restartable": "bool",
    "restart_cost_s": "int4",
    "held": "bool",
    "unmet_dependencies": "int4",
}
_NAMES = ", ".join(_COLUMNS)
_SHAPE = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())

_STORE = f"""
WITH draft AS (
    SELECT nextval('jobs_job_id_seq') AS id, wanted.* FROM (
        SELECT item.*, owner.id AS tenant_id, domain.id AS cluster_id, slice.id AS partition_id,
               kind.id AS profile_id, kind.basis AS profile_basis
        FROM jsonb_to_recordset(%(items)s::jsonb) AS item
             (index int4, tenant text, cluster text, partition text, profile text, {_SHAPE})
        LEFT JOIN tenancy_tenant owner ON owner.name = item.tenant
        LEFT JOIN clusters_cluster domain ON domain.name = item.cluster
        LEFT JOIN clusters_partition slice
               ON slice.cluster_id = domain.id AND slice.name = item.partition
        LEFT JOIN jobs_profile kind ON kind.tenant_id = owner.id AND kind.name = item.profile
        ORDER BY item.index
    ) wanted
), stored AS (
    INSERT INTO jobs_job
        (id, tenant_id, cluster_id, partition_id, profile_id, {_NAMES},
         state, reason, submitted_at, work_done, attained_gpu_s, version)
    SELECT id, tenant_id, cluster_id, partition_id, profile_id, {_NAMES},
           'queued', 'submitted', %(now)s, 0, 0, 1
    FROM draft
    WHERE tenant_id IS NOT NULL AND cluster_id IS NOT NULL
      AND (partition IS NULL) = (partition_id IS NULL)
      AND (profile IS NULL) = (profile_id IS NULL)
    RETURNING id, tenant_id
), announced AS (
    INSERT INTO jobs_jobevent (tenant_id, job_id, at, from_state, to_state, reason, detail)
    SELECT tenant_id, id, %(now)s, NULL, 'queued', 'submitted', '{{}}' FROM stored ORDER BY id
)
SELECT id, tenant_id, cluster_id, partition_id, profile_id, profile_basis
FROM draft ORDER BY index
"""  # noqa: S608  # only the names of columns above are interpolated


def store(drafts: Sequence[Draft], *, now: datetime) -> list[Stored | Conflict]:
    """Store the drafts whose names all exist; one result per draft, in their order."""
    items = encode([_item(index, draft) for index, draft in enumerate(drafts)])
    rows = fetch(_STORE, {"items": items.decode(), "now": now})
    return [_result(draft, _Found(*row)) for draft, row in zip(drafts, rows, strict=True)]


def _item(index: int, draft: Draft) -> dict[str, object]:
    min_gpus, max_gpus = draft.spec.gpu_range
    deadline_at = draft.spec.deadline_at
    return {
        **msgspec.structs.asdict(draft.spec),
        # A table of its own has become the profile that is named.
        "points": [],
        # Postgres reads offsets up to 15:59 only.
        "deadline_at": deadline_at and deadline_at.astimezone(UTC),
        "index": index,
        "tenant": draft.tenant,
        "array_id": draft.array_id,
        "array_index": draft.array_index,
        "min_gpus": min_gpus,
        "max_gpus": max_gpus,
        "unmet_dependencies": draft.unmet_dependencies,
    }


def _result(draft: Draft, found: _Found) -> Stored | Conflict:
    spec = draft.spec
    if found.tenant_id is None:
        return _unknown(draft, "tenant", "There is no such tenant.")
    if found.cluster_id is None:
        return _unknown(draft, "cluster", "There is no such cluster.")
    if spec.partition is not None and found.partition_id is None:
        return _unknown(draft, "partition", "The cluster has no such partition.")
    if spec.profile is not None and found.profile_id is None:
        return _unknown(draft, "profile", "The tenant has no such profile.")
    return Stored(
        found.id,
        found.tenant_id,
        found.cluster_id,
        found.partition_id,
        found.profile_id,
        found.profile_basis or "neutral",
        draft.unmet_dependencies,
    )


def _unknown(draft: Draft, field: str, detail: str) -> Conflict:
    conflict: Conflict = Conflict.at(pointer((*draft.path, field)), f"unknown_{field}", detail)
    return conflict
