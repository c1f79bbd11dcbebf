"""A job that nobody else moves while its caller decides."""

from jobs.models import Job
from jobs.selectors import jobs
from rest.problems import NotFound
from tenancy.callers import Caller


def locked_job(caller: Caller, job_id: int) -> Job:
    found = jobs(caller).select_for_update(of=("self",)).filter(pk=job_id).first()
    if found is None:
        raise NotFound
    return found
