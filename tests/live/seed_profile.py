"""A tenant's profile with a point, a version and a profiling run that is over."""

from collections.abc import Callable
from datetime import datetime

from jobs.models import Job, Profile, ProfileFit, ProfilePoint, ProfilingRun
from tenancy.models import Tenant


def seed_profile(tenant: Tenant, text: Callable[[str], str], now: datetime) -> Profile:
    """Of a type that exists for nobody else."""
    profile = Profile.objects.create(
        tenant=tenant,
        name=text("profile"),
        basis=Profile.Basis.FITTED,
        drift=text("drift"),
        fit_refused=text("refused"),
    )
    ProfilePoint.objects.create(
        tenant=tenant,
        profile=profile,
        gpu_type=text("type"),
        gpus=1,
        steps_per_s=2.0,
        source=ProfilePoint.Source.GIVEN,
        measured_at=now,
    )
    ProfileFit.objects.create(
        tenant=tenant,
        profile=profile,
        number=1,
        cause=ProfileFit.Cause.ASKED,
        models_fitted={"types": {text("type"): {}}, "sensitivity": None},
        points=1,
        made_at=now,
    )
    return profile


def seed_run(profile: Profile, job: Job, text: Callable[[str], str], now: datetime) -> None:
    note = text("note")
    ProfilingRun.objects.create(
        tenant_id=profile.tenant_id,
        profile=profile,
        cluster_id=job.cluster_id,
        job=job,
        state=ProfilingRun.State.SUCCEEDED,
        detail=text("measured"),
        measured=[
            {**dict.fromkeys(("clock_mhz", "steps_per_s", "watts")), "cpus": 1, "note": note}
        ],
        created_at=now,
        ended_at=now,
    )
