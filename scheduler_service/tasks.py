"""Celery's doorbells: each does one duty, or one round, and nothing else."""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from jobs.nudge import TASK
from scheduler_service import duties
from scheduling import gaps
from scheduling.round import run_round


@shared_task(name="jobs.tick")
def tick() -> None:
    """Dispatch every cluster whose round is due."""
    duties.note(duties.TICK)
    for cluster_id in duties.rounds_take(now=timezone.now()):
        schedule_round.delay(cluster_id)


@shared_task(name=TASK)
def schedule_round(cluster_id: int) -> None:
    run_round(cluster_id, now=timezone.now())


@shared_task(name="jobs.bounds")
def bounds() -> None:
    """Ask for bounds of the newest rounds; once the next are asked for, nobody needs these."""
    for round_id in gaps.rounds_to_bound():
        bound.apply_async((round_id,), queue=gaps.QUEUE, expires=settings.BOUND_INTERVAL_S)


@shared_task(
    name="jobs.bound",
    soft_time_limit=gaps.SOFT_LIMIT_S,
    time_limit=gaps.HARD_LIMIT_S,
)
def bound(round_id: int) -> None:
    gaps.bound_round(round_id)


def _do(name: str) -> None:
    duties.note(name)
    duties.DUTIES[name]()


@shared_task(name="jobs.watch")
def watch() -> None:
    _do("watch")


@shared_task(name="jobs.digest")
def digest() -> None:
    _do("digest")


@shared_task(name="jobs.steer")
def steer() -> None:
    _do("steer")


@shared_task(name="jobs.learn")
def learn() -> None:
    _do("learn")


@shared_task(name="jobs.sweep")
def sweep() -> None:
    _do("sweep")


@shared_task(name="jobs.power")
def power() -> None:
    _do("power")


@shared_task(name="jobs.switches")
def switches() -> None:
    _do("switches")
