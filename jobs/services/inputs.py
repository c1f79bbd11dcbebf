"""What jobs name beside machines: archives, volumes and secrets, which must exist at the submit."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import Q

from clusters.models import Volume
from clusters.selectors import open_to
from jobs.services.drafts import JobDraft
from rest.pointers import pointer
from rest.problems import Conflict
from storage.models import Blob
from tenancy.models import Secret, Tenant


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that the drafts of one request name and that is there, by tenant."""

    archives: dict[tuple[str, str], int] = field(default_factory=dict)
    # Whether a job may only read it, by tenant, cluster and name.
    volumes: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    secrets: frozenset[tuple[str, str]] = frozenset()


def with_inputs(drafts: Sequence[JobDraft], *, now: datetime) -> list[JobDraft | Conflict]:
    """Each draft with its archive found, or what it names in vain; few queries for any number."""
    asking = [draft for draft in drafts if _asks(draft)]
    if not asking:
        return list(drafts)
    known = _known(asking, now)
    return [_resolved(draft, known) if _asks(draft) else draft for draft in drafts]


def _asks(draft: JobDraft) -> bool:
    spec = draft.spec
    return bool((spec.workdir and spec.workdir.archive) or spec.mounts or spec.secrets)


def _known(drafts: Sequence[JobDraft], now: datetime) -> Inputs:
    tenants = dict(
        Tenant.objects.filter(name__in={draft.tenant for draft in drafts}).values_list("name", "pk")
    )
    return Inputs(
        archives=_archives(drafts, tenants, now),
        volumes=_volumes(drafts, tenants),
        secrets=_secrets(drafts, tenants),
    )


def _archives(
    drafts: Sequence[JobDraft], tenants: dict[str, int], now: datetime
) -> dict[tuple[str, str], int]:
    digests = {d.spec.workdir.archive for d in drafts if d.spec.workdir and d.spec.workdir.archive}
    if not digests:
        return {}
    names = {pk: name for name, pk in tenants.items()}
    rows = Blob.objects.filter(tenant__in=tenants.values(), digest__in=digests).exclude(format="")
    found = {(names[row.tenant_id], row.digest): row.pk for row in rows}
    # So that the sweep does not take it between the submit and its commit.
    Blob.objects.filter(pk__in=found.values()).update(used_at=now)
    return found


def _volumes(
    drafts: Sequence[JobDraft], tenants: dict[str, int]
) -> dict[tuple[str, str, str], bool]:
    wanted: dict[str, Q] = defaultdict(Q)
    for draft in drafts:
        for mount in draft.spec.mounts:
            wanted[draft.tenant] |= Q(cluster__name=draft.spec.cluster, name=mount.volume)
    found: dict[tuple[str, str, str], bool] = {}
    for tenant, named in wanted.items():
        if tenant in tenants:
            rows = Volume.objects.filter(named, open_to(tenants[tenant]))
            for cluster, name, read_only in rows.values_list("cluster__name", "name", "read_only"):
                found[tenant, cluster, name] = read_only
    return found


def _secrets(drafts: Sequence[JobDraft], tenants: dict[str, int]) -> frozenset[tuple[str, str]]:
    wanted = {use.name for draft in drafts for use in draft.spec.secrets}
    if not wanted:
        return frozenset()
    rows = Secret.objects.filter(tenant__in=tenants.values(), name__in=wanted)
    return frozenset(rows.values_list("tenant__name", "name"))


def _resolved(draft: JobDraft, known: Inputs) -> JobDraft | Conflict:
    """The first name that is in vain, or the draft with its archive's id."""
    spec, workdir_id = draft.spec, None
    if spec.workdir and spec.workdir.archive:
        workdir_id = known.archives.get((draft.tenant, spec.workdir.archive))
        if workdir_id is None:
            return _unknown(draft, ("workdir", "archive"), "archive", _NO_ARCHIVE)
    for index, mount in enumerate(spec.mounts):
        read_only = known.volumes.get((draft.tenant, spec.cluster, mount.volume))
        if read_only is None:
            detail = f"The cluster has no volume called {mount.volume!r} for you."
            return _unknown(draft, ("mounts", index, "volume"), "volume", detail)
        if read_only and not mount.read_only:
            at = pointer((*draft.path, "mounts", index, "read_only"))
            return Conflict.at(at, "volume_read_only", "This volume can only be read.")
    for index, use in enumerate(spec.secrets):
        if (draft.tenant, use.name) not in known.secrets:
            detail = f"The tenant has no secret called {use.name!r}."
            return _unknown(draft, ("secrets", index, "name"), "secret", detail)
    return replace(draft, workdir_id=workdir_id)


_NO_ARCHIVE = "The tenant has stored no archive with this digest; upload it first."


def _unknown(draft: JobDraft, at: Collection[str | int], what: str, detail: str) -> Conflict:
    conflict: Conflict = Conflict.at(pointer((*draft.path, *at)), f"unknown_{what}", detail)
    return conflict
