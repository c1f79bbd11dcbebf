"""A profile's points become its next version: models, their errors, and where they hold."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Max

from jobs.models import Profile, ProfileFit
from jobs.profiling.assembly import Typed, assembled
from jobs.profiling.checks import troubles
from jobs.profiling.fitting.behaviour import GpuLimits
from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.knowledge import accepted_points, data_of, gpu_limits, typed
from jobs.profiling.performance.application import Application
from jobs.profiling.stored import document_of
from policies.value_fault import ValueFault, pointer
from rest.problems import Contradiction, Fault

VERSIONS_KEPT = 20
DUE_BATCH = 50


@transaction.atomic
def profile_fit(profile_id: int, *, cause: ProfileFit.Cause, now: datetime) -> ProfileFit:
    """Raises FitRefused when the points make no sense together."""
    profile = Profile.objects.select_for_update(no_key=True).get(pk=profile_id)
    rows, limits = accepted_points([profile.pk])[profile.pk], gpu_limits()
    points = [typed(row, now) for row in rows]
    refuse_senseless(points, limits)
    application = assembled(profile.name, points, limits, data_of(profile))
    newest = ProfileFit.objects.filter(profile=profile).aggregate(Max("number"))["number__max"]
    errors = _errors(application)
    fit = ProfileFit.objects.create(
        tenant_id=profile.tenant_id,
        profile=profile,
        number=(newest or 0) + 1,
        cause=cause,
        models_fitted=document_of(application),
        points=len(points),
        mean_error=sum(errors) / len(errors) if errors else None,
        worst_error=max(errors, default=None),
        made_at=now,
    )
    ProfileFit.objects.filter(profile=profile, number__lte=fit.number - VERSIONS_KEPT).delete()
    Profile.objects.filter(pk=profile.pk).update(
        basis=Profile.Basis.FITTED,
        fit_due=False,
        fit_refused="",
        updated_at=now,
        revision=F("revision") + 1,
    )
    return fit


def fits_due(*, now: datetime, batch: int = DUE_BATCH) -> int:
    """Fit the profiles that have new points; how many were looked at."""
    due = list(Profile.objects.filter(fit_due=True).order_by("id").values_list("pk", flat=True))
    for profile_id in due[:batch]:
        try:
            profile_fit(profile_id, cause=ProfileFit.Cause.LEARNED, now=now)
        except FitRefused as refused:
            fit_refused(profile_id, refused)
    return len(due[:batch])


def refuse_senseless(points: Sequence[Typed], limits: Mapping[str, GpuLimits]) -> None:
    if not points:
        raise FitRefused([ValueFault("no_points", "/points", "Nothing has been measured yet.")])
    found = [
        ValueFault(one.code, pointer("points", one.index, one.field), one.message)
        for one in troubles(points, limits)
    ]
    if found:
        raise FitRefused(found)


def fit_refused(profile_id: int, refused: FitRefused) -> None:
    """Nobody asked who could be told, so the profile says it; its last version stays."""
    Profile.objects.filter(pk=profile_id).update(fit_due=False, fit_refused=str(refused)[:1000])


def refusal(refused: FitRefused) -> Contradiction:
    """To whoever asked for the fit."""
    faults = [Fault(one.pointer, one.code, one.message) for one in refused.problems]
    return Contradiction(faults[0].detail, code=faults[0].code, errors=faults)


def _errors(application: Application) -> list[float]:
    return [
        abs(float(error))
        for behaviour in application.behaviours.values()
        if behaviour.throughput is not None
        for error in behaviour.throughput.residuals
    ]
