"""One row of everything a tenant can own, each text marked as that tenant's."""

from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db.models import F

from jobs.models import Allocation, Attempt, GpuQuota, Job, JobArray, JobDependency, JobEvent, Part
from scheduling.models import Decision
from tenancy.models import ApiToken, AuditRow, Membership, Tenant
from tests.live.seed_energy import seed_energy
from tests.live.seed_machines import Machines
from tests.live.seed_profile import seed_profile, seed_run
from tests.live.seed_stored import seed_stored
from tests.live.world import CANARY, THEIR_IDS_FROM, Ids

CPUS, MEMORY_MIB = 4, 1024


@dataclass(frozen=True)
class Marks:
    mark: str

    def text(self, what: str) -> str:
        return f"{self.mark}-{what}"


@dataclass(frozen=True)
class Owned:
    tenant_id: int
    marks: Marks
    ids: Ids = field(default_factory=dict)

    def mark_decisions(self) -> None:
        """The round has written them since, in words of its own."""
        shift = THEIR_IDS_FROM if self.marks.mark == CANARY else 0
        Decision.objects.filter(tenant=self.tenant_id).update(
            id=F("id") + shift,
            reason=self.marks.text("reason"),
            action=self.marks.text("action"),
            evidence={"note": self.marks.text("evidence")},
        )
        if not Decision.objects.filter(tenant=self.tenant_id).exists():
            raise RuntimeError("the round decided nothing about this tenant")


def seed_tenant(machines: Machines, marks: Marks, *, gpu: int, now: datetime) -> Owned:
    """`gpu` is the one that the tenant's running attempt holds."""
    tenant = Tenant.objects.create(
        name=marks.text("tenant"), display_name=marks.text("display"), gpus_in_use=1
    )
    jobs = _Jobs(machines, tenant, marks, now)
    running = jobs.job(state=Job.State.RUNNING, started_at=now)
    ended = jobs.job(state=Job.State.SUCCEEDED, ended_at=now, array=jobs.array, array_index=0)
    waiting = jobs.job(unmet_dependencies=1)
    JobDependency.objects.create(tenant=tenant, job=waiting, on_job=running)
    queued = jobs.job()
    seed_run(jobs.profile, ended, marks.text, now)
    seed_energy(machines, queued, marks.text("printed"), machines.gpus[gpu], now)
    return Owned(
        tenant.pk,
        marks,
        {
            "tenants": tenant.pk,
            "memberships": _membership(tenant, marks).pk,
            "tokens": _token(tenant, marks).pk,
            "audit": _audit_row(tenant, marks, queued, now).pk,
            "gpu-quotas": GpuQuota.objects.create(
                tenant=tenant, gpu_type=machines.gpu_type, gpus=8, gpus_in_use=1
            ).pk,
            "profiles": jobs.profile.pk,
            "arrays": jobs.array.pk,
            "jobs": queued.pk,
            "waiting jobs": waiting.pk,
            "ended jobs": ended.pk,
            "attempts": (attempt := _attempt(machines, running, marks, gpu=gpu, now=now)).pk,
            **seed_stored(machines, attempt, marks.text, now),
        },
    )


class _Jobs:
    def __init__(self, machines: Machines, tenant: Tenant, marks: Marks, now: datetime) -> None:
        self.machines, self.tenant, self.marks, self.now = machines, tenant, marks, now
        self.profile = seed_profile(tenant, marks.text, now)
        self.array = JobArray.objects.create(tenant=tenant, name=marks.text("array"), size=1)

    def job(self, **fields: object) -> Job:
        """Asks for a type that no node has, so that it waits."""
        text = self.marks.text
        values: dict[str, object] = {
            "tenant": self.tenant,
            "cluster": self.machines.cluster,
            "profile": self.profile,
            "name": text("job"),
            "argv": ["echo", text("argv")],
            "sealed_env": text("sealed"),
            "env_names": [text("key")],
            "git_url": text("git"),
            "git_commit": text("commit"),
            "mounts": [{"volume": text("volume"), "target": text("target"), "read_only": True}],
            "artifacts": [{"name": text("artifact"), "path": text("path")}],
            "secrets": [{"name": text("secret"), "variable": text("variable"), "file": None}],
            "retry_on": [text("end")],
            "labels": {text("label"): text("value")},
            "image": text("image"),
            "gpu_types": [text("type")],
            "reason": text("reason"),
            "submitted_at": self.now,
        }
        job = Job.objects.create(**{**values, **fields})
        moved = "submitted" if job.state == Job.State.QUEUED else job.state
        JobEvent.objects.create(
            tenant=self.tenant,
            job=job,
            at=self.now,
            from_state=None if job.state == Job.State.QUEUED else "queued",
            to_state=job.state,
            reason=text(moved),
            detail={"note": text("detail")},
        )
        return job


def _attempt(machines: Machines, job: Job, marks: Marks, *, gpu: int, now: datetime) -> Attempt:
    attempt = Attempt.objects.create(
        tenant_id=job.tenant_id,
        job=job,
        cluster=machines.cluster,
        number=1,
        fence=job.pk,
        state=Attempt.State.RUNNING,
        reason=marks.text("reason"),
        detail=marks.text("detail"),
        gpus=1,
        offered_at=now,
        started_at=now,
    )
    Allocation.objects.create(
        tenant_id=job.tenant_id,
        attempt=attempt,
        node=machines.node,
        gpu=machines.gpus[gpu],
        cpus=CPUS,
        memory_mib=MEMORY_MIB,
        held_at=now,
    )
    Part.objects.create(
        tenant_id=job.tenant_id,
        attempt=attempt,
        node=machines.node,
        fetched_at=now,
        end=marks.text("end"),
        detail=marks.text("detail"),
    )
    machines.hold(CPUS, MEMORY_MIB)
    return attempt


def _membership(tenant: Tenant, marks: Marks) -> Membership:
    user = get_user_model().objects.create(username=marks.text("person"))
    return Membership.objects.create(user=user, tenant=tenant)


def _token(tenant: Tenant, marks: Marks) -> ApiToken:
    return ApiToken.objects.create(
        tenant=tenant,
        role="member",
        name=marks.text("token"),
        prefix=marks.text("px")[:16],
        hash=marks.text("hash").encode(),
    )


def _audit_row(tenant: Tenant, marks: Marks, job: Job, now: datetime) -> AuditRow:
    return AuditRow.objects.create(
        at=now,
        role="member",
        tenant_id=tenant.pk,
        action=marks.text("action"),
        object_type=marks.text("type"),
        object_id=job.pk,
        request_id=marks.text("request"),
        changes={"note": marks.text("change")},
    )
