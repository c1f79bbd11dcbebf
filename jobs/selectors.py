"""Reads of the work; each passes the wall that shows a tenant its own rows only."""

from decimal import Decimal

from django.db.models import Count, F, Prefetch, QuerySet, TextField, Value
from django.db.models.functions import Coalesce

from clusters.models import Cluster
from jobs.models import (
    Allocation,
    Attempt,
    GpuQuota,
    Job,
    JobArray,
    JobDependency,
    JobEvent,
    Profile,
    ProfileFit,
    ProfilePoint,
    ProfilingRun,
)
from rest.problems import NotFound
from tenancy.callers import Caller
from tenancy.models import Tenant
from tenancy.selectors import visible


def jobs(caller: Caller) -> QuerySet[Job]:
    """With the names of what they refer to; sealed values are read for nobody."""
    rows = visible(Job.objects.all(), caller).annotate(
        tenant_name=F("tenant__name"),
        cluster_name=F("cluster__name"),
        partition_name=F("partition__name"),
        profile_name=F("profile__name"),
        archive=F("workdir__digest"),
        profile_basis=Coalesce(F("profile__basis"), Value(Profile.Basis.NEUTRAL, TextField())),
    )
    return rows.defer("sealed_env")


def tardiness_bound(job: Job) -> Decimal:
    """The most that the job may name for an hour of lateness: its tenant's, else its cluster's."""
    own = Tenant.objects.values_list("max_tardiness_price_per_h", flat=True).get(pk=job.tenant_id)
    if own is not None:
        return own
    return Cluster.objects.values_list("max_tardiness_price_per_h", flat=True).get(
        pk=job.cluster_id
    )


def dependencies(job: Job) -> QuerySet[JobDependency]:
    return JobDependency.objects.filter(job=job.pk, tenant=job.tenant_id).order_by("on_job_id")


def job_events(caller: Caller, job_id: int) -> QuerySet[JobEvent]:
    return visible(JobEvent.objects.filter(job=job_id), caller)


def events(caller: Caller) -> QuerySet[JobEvent]:
    """Of all jobs, each with what tells its job from others."""
    rows = JobEvent.objects.annotate(
        job_name=F("job__name"),
        tenant_name=F("tenant__name"),
        cluster_name=F("job__cluster__name"),
        array_id=F("job__array_id"),
        labels=F("job__labels"),
    )
    return visible(rows, caller)


def arrays(caller: Caller) -> QuerySet[JobArray]:
    return visible(JobArray.objects.annotate(tenant_name=F("tenant__name")), caller)


def array_states(array: JobArray) -> dict[str, int]:
    """How many of the array's jobs are in each state."""
    rows = Job.objects.filter(array=array.pk, tenant=array.tenant_id)
    counted = rows.values_list("state").annotate(count=Count("id")).order_by("state")
    return dict(counted)


def profiles(caller: Caller) -> QuerySet[Profile]:
    """With the points that were given and the newest version of the fit."""
    given = ProfilePoint.objects.filter(source=ProfilePoint.Source.GIVEN).order_by("id")
    newest = ProfileFit.objects.order_by("profile_id", "-number").distinct("profile_id")
    return visible(
        Profile.objects.annotate(tenant_name=F("tenant__name")), caller
    ).prefetch_related(
        Prefetch("points", given, to_attr="given_points"),
        Prefetch("fits", newest, to_attr="newest_fits"),
    )


def profile_points(caller: Caller, profile_id: int) -> QuerySet[ProfilePoint]:
    return visible(ProfilePoint.objects.filter(profile=profile_id), caller)


def profile_fits(caller: Caller, profile_id: int) -> QuerySet[ProfileFit]:
    return visible(ProfileFit.objects.filter(profile=profile_id), caller)


def profiling_runs(caller: Caller, profile_id: int) -> QuerySet[ProfilingRun]:
    rows = ProfilingRun.objects.filter(profile=profile_id)
    return visible(rows.annotate(cluster_name=F("cluster__name")), caller)


def attempts(caller: Caller) -> QuerySet[Attempt]:
    names = {"cluster_name": F("cluster__name"), "tenant_name": F("tenant__name")}
    return visible(Attempt.objects.annotate(**names), caller)


def allocations(attempt: Attempt) -> QuerySet[Allocation]:
    rows = Allocation.objects.filter(attempt=attempt.pk, tenant=attempt.tenant_id)
    return rows.select_related("node", "gpu").order_by("node_id", "gpu__index")


def gpu_quotas(caller: Caller) -> QuerySet[GpuQuota]:
    return visible(GpuQuota.objects.select_related("gpu_type"), caller)


def locked_job(caller: Caller, job_id: int) -> Job:
    """A job that nobody else moves while its caller decides."""
    found = jobs(caller).select_for_update(of=("self",)).filter(pk=job_id).first()
    if found is None:
        raise NotFound
    return found
