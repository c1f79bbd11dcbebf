"""What is known of profiles, as the pure models take it; read in a fixed number of queries."""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from clusters.models import GpuType
from jobs.models import Profile, ProfileFit, ProfilePoint
from jobs.profiling.assembly import Data, Typed, by_type, unhindered
from jobs.profiling.fitting.behaviour import GpuLimits
from jobs.profiling.performance.application import Application
from jobs.profiling.performance.points import Point
from jobs.profiling.stored import Document, behaviour_from, sensitivity_from

# A measurement counts half as much after this long: programs and drivers change.
HALF_LIFE = timedelta(days=30)
CACHED = 4096

Edition = tuple[datetime, int]
_CACHE: OrderedDict[int, tuple[Edition, Application]] = OrderedDict()


def applications(profile_ids: Sequence[int]) -> dict[int, Application]:
    """Three queries however many profiles; one for those that have not changed since."""
    rows = Profile.objects.filter(pk__in=profile_ids).only("name", "updated_at", "revision")
    profiles = {profile.pk: profile for profile in rows}
    stale = [
        pk
        for pk, profile in profiles.items()
        if pk not in _CACHE or _CACHE[pk][0] != _edition(profile)
    ]
    if stale:
        points, fits = accepted_points(stale), latest_fits(stale)
        for pk in stale:
            known = _application(profiles[pk], points.get(pk, []), fits.get(pk, {}))
            _CACHE[pk] = (_edition(profiles[pk]), known)
    found = {pk: _CACHE[pk][1] for pk in profiles}
    for pk in found:
        _CACHE.move_to_end(pk)
    while len(_CACHE) > CACHED:
        _CACHE.popitem(last=False)
    return found


def _edition(profile: Profile) -> Edition:
    return profile.updated_at, profile.revision


def accepted_points(profile_ids: Iterable[int]) -> dict[int, list[ProfilePoint]]:
    grouped: dict[int, list[ProfilePoint]] = defaultdict(list)
    rows = ProfilePoint.objects.filter(profile__in=list(profile_ids), accepted=True)
    for row in rows.order_by("id"):
        grouped[row.profile_id].append(row)
    return grouped


def latest_fits(profile_ids: Iterable[int]) -> dict[int, Document]:
    rows = ProfileFit.objects.filter(profile__in=list(profile_ids))
    newest = rows.order_by("profile_id", "-number").distinct("profile_id")
    return dict(newest.values_list("profile_id", "models_fitted"))


def typed(row: ProfilePoint, now: datetime | None = None) -> Typed:
    """As the models take it; with a `now`, what is old counts less."""
    learned = row.source == ProfilePoint.Source.LEARNED
    age = timedelta(0) if now is None else max(now - row.measured_at, timedelta(0))
    point = Point(
        gpus=row.gpus,
        steps_per_s=row.steps_per_s,
        clock_mhz=row.clock_mhz or 0,
        watts_per_gpu=_or_nan(row.watts_per_gpu),
        cpus_per_gpu=_or_nan(row.cpus_per_gpu),
        # An attempt's memory is what it was given; whether it needed that much is not known.
        mem_mib_per_gpu=math.nan if learned else _or_nan(row.memory_mib_per_gpu),
        weight=row.weight * 0.5 ** (age / HALF_LIFE),
    )
    return Typed(row.gpu_type, point)


def gpu_limits() -> dict[str, GpuLimits]:
    return {
        kind.name: GpuLimits(
            idle_w=kind.idle_w,
            max_w=kind.max_w,
            highest_mhz=max(kind.clocks_mhz, default=0),
            lowest_mhz=min(kind.clocks_mhz, default=0),
        )
        for kind in GpuType.objects.order_by("id")
    }


def data_of(profile: Profile) -> Data:
    return Data(profile.dataset_mib, profile.step_mib, profile.storage_mib_per_s)


def _application(profile: Profile, rows: Sequence[ProfilePoint], fit: Document) -> Application:
    sensitivity = sensitivity_from(fit)
    points = by_type(typed(row) for row in rows)
    kinds = {**dict.fromkeys(fit.get("types", {})), **dict.fromkeys(points)}
    return Application(
        name=profile.name,
        behaviours={
            kind: behaviour_from(fit, kind, unhindered(points.get(kind, []), sensitivity))
            for kind in kinds
        },
        sensitivity=sensitivity,
    )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
