"""Rows about to be stored: whose they will be, and where they stand in the request."""

from dataclasses import dataclass

from jobs.specs import JobSpec
from rest.problems import Conflict, Contradiction
from tenancy.callers import Caller
from tenancy.models import Tenant


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job; `path` is where its spec stands in the request's body."""

    spec: JobSpec
    tenant: str
    path: tuple[str | int, ...] = ()
    array_id: int | None = None
    array_index: int | None = None
    unmet_dependencies: int = 0
    workdir_id: int | None = None


def owner_name(caller: Caller, wanted: str | None, at: str = "/tenant") -> str:
    """The tenant's name: a tenant's own, and what an operator says."""
    if caller.tenant_name is None:
        if wanted is None:
            raise Contradiction.at(at, "tenant_required", "Say which tenant this is for.")
        return wanted
    if wanted is not None and wanted != caller.tenant_name:
        raise Conflict.at(at, "unknown_tenant", "There is no such tenant.")
    return caller.tenant_name


def owner_id(caller: Caller, wanted: str | None, at: str = "/tenant") -> int:
    name = owner_name(caller, wanted, at)
    if caller.tenant_id is not None:
        return caller.tenant_id
    found = Tenant.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise Conflict.at(at, "unknown_tenant", "There is no such tenant.")
    return found
