"""Pages of jobs: those that wait, with their reasons, and those of any state."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db.models import QuerySet

from clusters.selectors import clusters
from jobs.models import Job
from jobs.selectors import jobs
from scheduling.waits import WaitText, soonest, wait_texts
from tenancy.callers import Caller

PAGE, SOONEST = 50, 3
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

    @property
    def starts_at(self) -> datetime | None:
        """As forecast, else as the round has it."""
        return self.job.forecast_start_at or (self.wait.until_at if self.wait else None)

    @property
    def reserved(self) -> bool:
        return self.wait is not None and self.wait.until_at is not None


@dataclass(frozen=True, slots=True)
class Queue(RowPage[WaitingJob]):
    soonest: list[WaitingJob]


def waiting_jobs(caller: Caller, *, cluster_id: int | None, after: int | None) -> Queue:
    """The oldest first, and on the first page those that start next."""
    rows = jobs(caller).filter(state=Job.State.QUEUED, pk__gt=after or 0)
    if cluster_id is not None:
        rows = rows.filter(cluster=cluster_id)
    page, following = _cut(rows.order_by("pk"))
    ahead = _soonest(caller, cluster_id) if after is None else []
    texts = wait_texts([*page, *ahead])
    waiting, first = (
        [WaitingJob(job, texts.get(job.pk)) for job in rows] for rows in (page, ahead)
    )
    timed = sorted((row.starts_at, row.job.pk, row) for row in first if row.starts_at)
    return Queue(waiting, following, [row for _, _, row in timed[:SOONEST]])


def _soonest(caller: Caller, cluster_id: int | None) -> list[Job]:
    ids = clusters().values_list("pk", flat=True) if cluster_id is None else [cluster_id]
    wanted = soonest(ids)
    return list(jobs(caller).filter(state=Job.State.QUEUED, held=False, pk__in=wanted))


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
