"""Submitting what a job asked for once more, its variables included, which nobody gets to see."""

from datetime import datetime

from django.db import transaction

from jobs.models import Job
from jobs.sealed_env import opened_env
from jobs.selectors import jobs
from jobs.services.submit import job_submit
from jobs.specs import JobSpec
from rest.problems import NotFound
from rest.structs import read
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES

# Columns that hold what a spec of the same name says, in the same form.
_SAME = (
    *("name", "argv", "labels", "image", "processes", "mounts", "artifacts", "secrets"),
    *("time_limit_s", "max_retries", "retry_on", "retry_backoff_s", "min_gpus", "max_gpus"),
    *("gpu_types", "cpus_per_gpu", "memory_mib_per_gpu", "span", "priority"),
    *("estimated_run_s", "work_total", "preemptible", "restartable", "restart_cost_s"),
    "run_lease_s",
)


@transaction.atomic(savepoint=False)
def job_resubmit(*, caller: Caller, job_id: int, now: datetime) -> Job:
    """Without dependencies, and without a deadline that has passed."""
    job = jobs(caller).defer(None).filter(pk=job_id).first()
    if job is None:
        raise NotFound
    return job_submit(caller=caller, spec=_spec(caller, job, now), now=now)


def _spec(caller: Caller, job: Job, now: datetime) -> JobSpec:
    row = vars(job)
    values = {name: row[name] for name in _SAME}
    names = {"cluster": "cluster_name", "partition": "partition_name", "profile": "profile_name"}
    values |= {member: row[annotated] for member, annotated in names.items()}
    values["tardiness_price_per_h"] = f"{job.tardiness_price_per_h:f}"
    values["env"] = opened_env(job.sealed_env, row["tenant_name"])
    if caller.role not in TENANT_ROLES:
        values["tenant"] = row["tenant_name"]
    if job.deadline_at is not None and job.deadline_at > now:
        values["deadline_at"] = job.deadline_at.isoformat()
    if row["archive"] is not None:
        values["workdir"] = {"archive": row["archive"]}
    elif job.git_url is not None:
        values["workdir"] = {"git": job.git_url, "commit": job.git_commit}
    spec: JobSpec = read(JobSpec, values)
    return spec
