"""What a job says about how it behaves: a table of its own, or that it be measured first."""

from datetime import datetime
from hashlib import sha256

import msgspec

from jobs.models import JobDependency, Profile, ProfilePoint
from jobs.services.drafts import JobDraft
from jobs.services.profiles import refuse_points, store_points
from jobs.services.profiling import profiling_create
from jobs.specs import Dependency, JobSpec, ProfilingSpec
from tenancy.callers import Caller
from tenancy.models import Tenant


def with_inline_profile(draft: JobDraft, *, now: datetime) -> JobSpec:
    """The table becomes a profile, named after what it says: the same table is the same profile."""
    points = draft.spec.points
    refuse_points(points)
    owner = Tenant.objects.filter(name=draft.tenant).values_list("pk", flat=True).first()
    if owner is None:
        return draft.spec  # storing says so
    said = msgspec.json.encode(sorted(points, key=lambda point: repr(point.configuration)))
    name = f"inline/{sha256(said).hexdigest()[:32]}"
    row = Profile(tenant_id=owner, name=name, inline=True, created_at=now, updated_at=now)
    Profile.objects.bulk_create([row], ignore_conflicts=True)
    profile = Profile.objects.get(tenant=owner, name=name)
    if not ProfilePoint.objects.filter(profile=profile).exists():
        store_points(profile, points, now)
    return msgspec.structs.replace(draft.spec, profile=name, points=[])


def measured_first(caller: Caller, draft: JobDraft, *, now: datetime) -> JobSpec:
    """If nothing is known of the profile, the job waits until a profiling run has ended."""
    spec = draft.spec
    named = Profile.objects.filter(tenant__name=draft.tenant, name=spec.profile)
    profile = named.filter(basis=Profile.Basis.NEUTRAL).first()
    if profile is None:
        return spec
    asked = ProfilingSpec(
        cluster=spec.cluster,
        argv=spec.argv,
        env=spec.env,
        image=spec.image,
        partition=spec.partition,
        gpu_types=spec.gpu_types,
        priority=spec.priority,
    )
    run = profiling_create(caller=caller, profile=profile, spec=asked, now=now)
    after = Dependency(job=run.job_id, kind=JobDependency.Kind.ENDED)
    return msgspec.structs.replace(spec, depends_on=[*spec.depends_on, after])
