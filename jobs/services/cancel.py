"""Cancelling jobs in any state: one, a whole array, or all that a filter finds.

What no agent has fetched is over at once: its attempt ends and gives its GPUs back. What an agent
runs is asked to stop: the attempt goes to `stopping` with the reason `cancel_requested`, the job
keeps its state, and whoever ends the attempt then moves the job to `cancelled`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F, QuerySet

from jobs.attempts import attempts_end
from jobs.lifecycle import LIVE, TERMINAL, State, advance
from jobs.models import Attempt, Job, JobArray
from jobs.nudge import nudge
from jobs.selectors import jobs, locked_job
from rest.problems import Conflict
from tenancy import audit
from tenancy.callers import Caller

CANCELLED = "cancelled"
REQUESTED = "cancel_requested"

# Jobs before attempts before nodes, each by id: the order in which everybody takes them.
_LOCK_ATTEMPTS = """
SELECT id, job_id, state FROM jobs_attempt
WHERE job_id = ANY(%s) AND state NOT IN ('ended', 'lost') ORDER BY id FOR UPDATE
"""


@transaction.atomic(savepoint=False)
def job_cancel(*, caller: Caller, job_id: int, now: datetime) -> Job:
    """Cancelling what is cancelled changes nothing; what has ended otherwise cannot be."""
    job = locked_job(caller, job_id)
    if job.state == State.CANCELLED:
        return job
    if job.state in TERMINAL:
        raise Conflict(f"The job has {job.state}; only live jobs are cancelled.", code="job_ended")
    _cancel([job.pk], now)
    audit.record(caller, "job.cancel", job, {"from": job.state}, tenant_id=job.tenant_id)
    nudge(job.cluster_id)
    return jobs(caller).get(pk=job.pk)


@dataclass(frozen=True, slots=True)
class Cancelled:
    cancelled: int
    stopping: int


@transaction.atomic(savepoint=False)
def array_cancel(*, caller: Caller, array: JobArray, now: datetime) -> Cancelled:
    """Cancel those of the array's jobs that live."""
    done = _cancel_live(Job.objects.filter(array=array.pk), now)
    audit.record(caller, "array.cancel", array, asdict(done), tenant_id=array.tenant_id)
    return done


@transaction.atomic(savepoint=False)
def jobs_cancel(
    *, caller: Caller, rows: QuerySet[Job], asked: Mapping[str, str], now: datetime
) -> Cancelled:
    """Cancel those of `rows` that live; `asked` are the filters that found them, for the audit."""
    done = _cancel_live(rows, now)
    if done.cancelled or done.stopping:
        audit.record(caller, "job.cancel_many", None, {**asked, **asdict(done)})
    return done


def _cancel_live(rows: QuerySet[Job], now: datetime) -> Cancelled:
    live = rows.filter(state__in=LIVE).order_by("pk").select_for_update(of=("self",))
    clusters = dict(live.values_list("pk", "cluster_id"))
    done = _cancel(list(clusters), now)
    for cluster_id in sorted(set(clusters.values())):
        nudge(cluster_id)
    return done


def _cancel(job_ids: Sequence[int], now: datetime) -> Cancelled:
    """The jobs are locked, so no round can place one in between."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_ATTEMPTS, [list(job_ids)])
        attempts = cursor.fetchall()
    offered = [pk for pk, _, state in attempts if state == Attempt.State.OFFERED]
    fetched = {pk: job for pk, job, state in attempts if state != Attempt.State.OFFERED}
    if offered:
        attempts_end(offered, state=Attempt.State.ENDED, reason=CANCELLED, now=now)
    if fetched:
        _ask_to_stop(fetched)
    running = set(fetched.values())
    over = [pk for pk in job_ids if pk not in running]
    advance(over, sources=LIVE, to=State.CANCELLED, reason=CANCELLED, now=now)
    return Cancelled(len(over), len(running))


def _ask_to_stop(fetched: dict[int, int]) -> None:
    Attempt.objects.filter(pk__in=fetched).update(
        state=Attempt.State.STOPPING, reason=REQUESTED, relocation=None, relocation_until_at=None
    )
    Job.objects.filter(pk__in=fetched.values()).update(reason=REQUESTED, version=F("version") + 1)
