"""Asking for a profiling run: a job on one GPU that waits for its turn among the others."""

from datetime import datetime

from django.db import transaction
from django.db.models import Min

from clusters.models import Node
from jobs import contradictions
from jobs.models import Profile, ProfilingRun
from jobs.services.drafts import JobDraft
from jobs.services.store import Stored, submit_drafts
from jobs.specs import JobSpec, ProfilingSpec
from rest.problems import Problem
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import Tenant

State = ProfilingRun.State
LIVE = (State.WAITING, State.ADMITTED)
# What is tried first, where the cluster has no node that could say better.
CPUS, MEMORY_MIB = 8, 16_384


@transaction.atomic(savepoint=False)
def profiling_create(
    *, caller: Caller, profile: Profile, spec: ProfilingSpec, now: datetime
) -> ProfilingRun:
    """One run of a profile at a time: asking again while it is under way returns it."""
    Profile.objects.select_for_update(no_key=True).get(pk=profile.pk)
    under_way = ProfilingRun.objects.filter(profile=profile, state__in=LIVE).first()
    if under_way is not None:
        return under_way
    job = _job(profile, spec)
    contradictions.refuse(contradictions.in_job(job, now=now))
    owner = Tenant.objects.only("name").get(pk=profile.tenant_id)
    (stored,) = submit_drafts([JobDraft(job, owner.name)], now=now)
    if isinstance(stored, Problem):
        raise stored
    run = _store(profile, stored, now)
    changes = {"run": run.pk, "job": stored.id, "cluster": spec.cluster}
    audit.record(caller, "profile.measure", profile, changes, tenant_id=profile.tenant_id)
    return run


def _store(profile: Profile, stored: Stored, now: datetime) -> ProfilingRun:
    return ProfilingRun.objects.create(
        tenant_id=profile.tenant_id,
        profile=profile,
        cluster_id=stored.cluster_id,
        job_id=stored.id,
        created_at=now,
    )


def _job(profile: Profile, spec: ProfilingSpec) -> JobSpec:
    """Held until its turn has come; short and alone on its GPU, so nobody preempts it."""
    nodes = Node.objects.filter(cluster__name=spec.cluster, state=Node.State.READY)
    if spec.gpu_types:
        nodes = nodes.filter(gpu_type__name__in=spec.gpu_types)
    if spec.partition is not None:
        nodes = nodes.filter(partition__name=spec.partition)
    least = nodes.aggregate(cpus=Min("cpus"), memory_mib=Min("memory_mib"))
    half_cpus, half_mib = (least["cpus"] or 0) // 2, (least["memory_mib"] or 0) // 2
    return JobSpec(
        name=f"profiling {profile.name}",
        cluster=spec.cluster,
        partition=spec.partition,
        profile=profile.name,
        argv=spec.argv,
        env=spec.env,
        image=spec.image,
        gpus=1,
        gpu_types=spec.gpu_types,
        cpus_per_gpu=spec.cpus or half_cpus or CPUS,
        memory_mib_per_gpu=half_mib or MEMORY_MIB if spec.memory_mib is None else spec.memory_mib,
        priority=spec.priority,
        preemptible=False,
        held=True,
    )
