"""Profiles: what a tenant measured or knows about a kind of job."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.models import GpuType
from jobs import contradictions
from jobs.models import Profile, ProfileFit, ProfilePoint
from jobs.profiling import fits
from jobs.profiling.checks import troubles
from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.knowledge import gpu_limits, typed
from jobs.services.drafts import owner_id, owner_name
from jobs.specs import POINTS_MAX, PointSpec, PointsSpec, ProfileSpec
from rest.etag import delete_versioned, update_versioned
from rest.pointers import pointer
from rest.problems import Conflict, Contradiction, Fault
from tenancy import audit
from tenancy.callers import Caller

Source, Basis = ProfilePoint.Source, Profile.Basis


@transaction.atomic(savepoint=False)
def profile_create(*, caller: Caller, spec: ProfileSpec, now: datetime) -> Profile:
    refuse_points(spec.points)
    profile = Profile.objects.create(
        tenant_id=owner_id(caller, spec.tenant),
        name=spec.name,
        dataset_mib=spec.dataset_mib,
        step_mib=spec.step_mib,
        storage_mib_per_s=spec.storage_mib_per_s,
        created_at=now,
        updated_at=now,
    )
    store_points(profile, spec.points, now)
    changes = {"name": spec.name, "points": len(spec.points)}
    audit.record(caller, "profile.create", profile, changes, tenant_id=profile.tenant_id)
    profile.tenant_name = owner_name(caller, spec.tenant)  # type: ignore[attr-defined]
    return profile


@transaction.atomic(savepoint=False)
def profile_update(
    *, caller: Caller, profile: Profile, changes: Mapping[str, Any], now: datetime
) -> Profile:
    values = dict(changes)
    points = values.pop("points", None)
    update_versioned(profile, {**values, "updated_at": now})
    if points is not None:
        refuse_points(points)
        ProfilePoint.objects.filter(profile=profile, source=Source.GIVEN).delete()
        store_points(profile, points, now)
        values["points"] = len(points)
    audit.record(caller, "profile.update", profile, values, tenant_id=profile.tenant_id)
    return profile


@transaction.atomic(savepoint=False)
def profile_delete(*, caller: Caller, profile: Profile) -> None:
    changes = {"name": profile.name}
    audit.record(caller, "profile.delete", profile, changes, tenant_id=profile.tenant_id)
    delete_versioned(profile)


@transaction.atomic(savepoint=False)
def points_add(*, caller: Caller, profile: Profile, spec: PointsSpec, now: datetime) -> Profile:
    """A point of a configuration that was given before replaces it."""
    locked = Profile.objects.select_for_update(no_key=True).get(pk=profile.pk)
    rows = list(ProfilePoint.objects.filter(profile=locked, accepted=True).order_by("id"))
    given = {point.configuration for point in spec.points}
    again = [row for row in rows if row.source == Source.GIVEN and _configuration(row) in given]
    refuse_points(spec.points, beside=[row for row in rows if row not in again])
    if len(rows) - len(again) + len(spec.points) > POINTS_MAX:
        detail = f"A profile keeps at most {POINTS_MAX} points."
        raise Contradiction.at("/points", "too_many_points", detail)
    ProfilePoint.objects.filter(pk__in=[row.pk for row in again]).delete()
    update_versioned(locked, {"updated_at": now})
    store_points(locked, spec.points, now)
    changes = {"points": len(spec.points)}
    audit.record(caller, "profile.add_points", profile, changes, tenant_id=profile.tenant_id)
    return locked


@transaction.atomic(savepoint=False)
def profile_fit(*, caller: Caller, profile: Profile, now: datetime) -> ProfileFit:
    try:
        fit = fits.profile_fit(profile.pk, cause=ProfileFit.Cause.ASKED, now=now)
    except FitRefused as refused:
        raise fits.refusal(refused) from None
    changes = {"version": fit.number, "points": fit.points}
    audit.record(caller, "profile.fit", profile, changes, tenant_id=profile.tenant_id)
    return fit


def store_points(profile: Profile, points: Sequence[PointSpec], now: datetime) -> None:
    ProfilePoint.objects.bulk_create(_row(profile, point, now) for point in points)
    known = ProfilePoint.objects.filter(profile=profile, accepted=True).exists()
    if not known:
        profile.basis = Basis.NEUTRAL
    elif profile.basis == Basis.NEUTRAL:
        profile.basis = Basis.MEASURED
    profile.fit_due = known
    profile.revision += 1
    profile.save(update_fields=["basis", "fit_due", "revision"])


def refuse_points(points: Sequence[PointSpec], beside: Sequence[ProfilePoint] = ()) -> None:
    """What contradicts itself, an unknown type, and values that cannot all be in one unit."""
    contradictions.refuse(contradictions.in_points(points, "points"))
    _refuse_unknown_types(points)
    given = [typed(_row(Profile(), point, None)) for point in points]
    known = [typed(row) for row in beside]
    faults = [
        Fault(pointer(("points", one.index, one.field)), one.code, one.message)
        for one in troubles([*given, *known], gpu_limits())
        if one.index < len(given)
    ]
    if faults and points:
        raise Contradiction(faults[0].detail, code=faults[0].code, errors=faults)


def _refuse_unknown_types(points: Sequence[PointSpec]) -> None:
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


def _row(profile: Profile, point: PointSpec, now: Any) -> ProfilePoint:
    return ProfilePoint(
        tenant_id=profile.tenant_id,
        profile_id=profile.pk,
        gpu_type=point.gpu_type,
        gpus=point.gpus,
        clock_mhz=point.clock_mhz,
        cpus_per_gpu=point.cpus_per_gpu,
        memory_mib_per_gpu=point.memory_mib_per_gpu,
        steps_per_s=point.steps_per_s,
        watts_per_gpu=point.watts_per_gpu,
        source=Source.GIVEN,
        measured_at=now,
    )


def _configuration(row: ProfilePoint) -> tuple[Any, ...]:
    return row.gpu_type, row.gpus, row.clock_mhz, row.cpus_per_gpu, row.memory_mib_per_gpu
