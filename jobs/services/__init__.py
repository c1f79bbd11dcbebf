"""Writes of the work, one function per action; each leaves its audit row in its transaction."""

from jobs.services.arrays import array_submit
from jobs.services.cancel import Cancelled, array_cancel, job_cancel, jobs_cancel
from jobs.services.profiles import (
    points_add,
    profile_create,
    profile_delete,
    profile_fit,
    profile_update,
)
from jobs.services.profiling import profiling_create
from jobs.services.queue import job_hold, job_release, job_update
from jobs.services.resubmit import job_resubmit
from jobs.services.submit import ItemResult, job_submit, jobs_submit_bulk

__all__ = [
    "Cancelled",
    "ItemResult",
    "array_cancel",
    "array_submit",
    "job_cancel",
    "job_hold",
    "job_release",
    "job_resubmit",
    "job_submit",
    "job_update",
    "jobs_cancel",
    "jobs_submit_bulk",
    "points_add",
    "profile_create",
    "profile_delete",
    "profile_fit",
    "profile_update",
    "profiling_create",
]
