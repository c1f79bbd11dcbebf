"""Trying a job again that failed by itself: so often, and each time later."""

from datetime import datetime, timedelta

from jobs.models import Job

RetryOn = Job.RetryOn
LONGEST_S = 3600


def retry_take(job: Job, kind: RetryOn, *, now: datetime) -> bool:
    """Whether this end is tried again; if so, one retry is used up. The job's row is locked."""
    if kind not in job.retry_on or job.retries >= job.max_retries:
        return False
    Job.objects.filter(pk=job.pk).update(
        retries=job.retries + 1, retry_at=now + backoff(job.retry_backoff_s, job.retries)
    )
    return True


def backoff(first_s: int, retries: int) -> timedelta:
    """Twice as long each time, up to an hour or what was asked for."""
    most_s = max(LONGEST_S, first_s)
    return timedelta(seconds=min(first_s << retries, most_s))
