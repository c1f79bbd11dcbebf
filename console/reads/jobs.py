"""Pages of jobs: those that wait, with their reasons, and those of any state."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import QuerySet

from console.reads.waits import WaitText, wait_texts
from jobs.models import Job
from jobs.selectors import jobs
from tenancy.callers import Caller

PAGE = 50
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    """`next` is the id to go on after; there is no count and no offset."""

    rows: list[Row]
    next: int | None


@dataclass(frozen=True, slots=True)
class WaitingJob:
    job: Job
    wait: WaitText | None


def waiting_jobs(
    caller: Caller, *, cluster_id: int | None, after: int | None
) -> RowPage[WaitingJob]:
    """The oldest first."""
    rows = jobs(caller).filter(state=Job.State.QUEUED, pk__gt=after or 0)
    if cluster_id is not None:
        rows = rows.filter(cluster=cluster_id)
    page, following = _cut(rows.order_by("pk"))
    texts = wait_texts(page)
    return RowPage([WaitingJob(job, texts.get(job.pk)) for job in page], following)


def newest_jobs(
    caller: Caller, *, state: str | None, tenant_id: int | None, before: int | None
) -> RowPage[Job]:
    rows = jobs(caller)
    if state is not None:
        rows = rows.filter(state=state)
    if tenant_id is not None:
        rows = rows.filter(tenant=tenant_id)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return RowPage(*_cut(rows.order_by("-pk")))


def _cut(rows: QuerySet[Job]) -> tuple[list[Job], int | None]:
    found = list(rows[: PAGE + 1])
    return found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None
