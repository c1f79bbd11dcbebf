"""Profiles: what a tenant measured or knows about a kind of job."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction

from clusters.models import GpuType
from jobs import contradictions
from jobs.models import Profile
from jobs.services.owners import owner_id, owner_name
from jobs.specs import ProfileChanges, ProfilePoint, ProfileSpec, given
from rest.etag import delete_versioned, update_versioned
from rest.pointers import pointer
from rest.problems import Conflict, Fault
from tenancy import audit
from tenancy.callers import Caller


@transaction.atomic(savepoint=False)
def profile_create(*, caller: Caller, spec: ProfileSpec, now: datetime) -> Profile:
    profile = Profile.objects.create(
        tenant_id=owner_id(caller, spec.tenant),
        name=spec.name,
        points=_points(spec.points),
        created_at=now,
        updated_at=now,
    )
    changes = {"name": spec.name, "points": len(spec.points)}
    audit.record(caller, "profile.create", profile, changes, tenant_id=profile.tenant_id)
    profile.tenant_name = owner_name(caller, spec.tenant)  # type: ignore[attr-defined]
    return profile


@transaction.atomic(savepoint=False)
def profile_update(
    *, caller: Caller, profile: Profile, changes: ProfileChanges, now: datetime
) -> Profile:
    values = given(changes)
    if not values:
        return profile
    if "points" in values:
        values["points"] = _points(values["points"])
    update_versioned(profile, {**values, "updated_at": now})
    audit.record(caller, "profile.update", profile, values, tenant_id=profile.tenant_id)
    return profile


@transaction.atomic(savepoint=False)
def profile_delete(*, caller: Caller, profile: Profile) -> None:
    changes = {"name": profile.name}
    audit.record(caller, "profile.delete", profile, changes, tenant_id=profile.tenant_id)
    delete_versioned(profile)


def _points(points: Sequence[ProfilePoint]) -> list[dict[str, Any]]:
    """As they are stored, once they make sense."""
    contradictions.refuse(contradictions.in_points(points, "points"))
    named = {point.gpu_type for point in points}
    known = set(GpuType.objects.filter(name__in=named).values_list("name", flat=True))
    unknown = [
        Fault(pointer(("points", index, "gpu_type")), "unknown_gpu_type", "There is no such type.")
        for index, point in enumerate(points)
        if point.gpu_type not in known
    ]
    if unknown:
        detail = "Some points name GPU types that do not exist."
        raise Conflict(detail, code="unknown_gpu_type", errors=unknown)
    stored: list[dict[str, Any]] = msgspec.to_builtins(list(points))
    return stored
