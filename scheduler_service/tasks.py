"""Celery's doorbells: each reads the clock, calls one service and does nothing else."""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from clusters.services import nodes_finish_draining
from clusters.services.site_power import site_power_apply
from energy.budgets.watch import power_watch
from energy.clocks import clocks_verify
from energy.ledger.settle import settle_due
from energy.telemetry.digest import samples_digest
from energy.telemetry.retention import forget_logs, forget_samples
from energy.telemetry.roll_up import samples_roll_up
from engines.agents.loss import watch_nodes
from jobs.nudge import TASK
from jobs.profiling.fits import fits_due
from jobs.profiling.learning import attempts_learn
from jobs.profiling.runs import profiling_runs_advance
from rest.idempotency import purge
from scheduling import gaps
from scheduling.due import due_clusters, round_claim
from scheduling.retention import forget_rounds
from scheduling.round import run_round


@shared_task(name="jobs.tick")
def tick() -> None:
    """Dispatch every cluster whose round is due; claiming it makes a second tick harmless."""
    now = timezone.now()
    for cluster_id in due_clusters(now):
        if round_claim(cluster_id, now=now):
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


@shared_task(name="jobs.watch")
def watch() -> None:
    """Find nodes that fell silent, free what died with them, and drain those that ran dry."""
    now = timezone.now()
    watch_nodes(now=now)
    nodes_finish_draining(now=now)


@shared_task(name="jobs.digest")
def digest() -> None:
    """Read the samples that came in, and settle the attempts whose time has come."""
    samples_digest()
    settle_due(now=timezone.now())


@shared_task(name="jobs.steer")
def steer() -> None:
    """Let profiling runs in, and take those under way to their next configuration."""
    profiling_runs_advance(now=timezone.now())


@shared_task(name="jobs.learn")
def learn() -> None:
    """Take in what attempts teach about their profiles, and fit those that have learned."""
    attempts_learn(now=timezone.now())
    fits_due(now=timezone.now())


@shared_task(name="jobs.sweep")
def sweep() -> None:
    now = timezone.now()
    forget_rounds(now=now)
    samples_roll_up(now=now)
    clocks_verify(now=now)
    forget_samples(now=now)
    forget_logs(now=now)
    purge(now=now)


@shared_task(name="jobs.power")
def power() -> None:
    """Hold what was measured against the power budgets, and call rounds when these change."""
    power_watch(now=timezone.now())


@shared_task(name="jobs.switches")
def switches() -> None:
    """Tell the site which nodes to power off and on."""
    site_power_apply(now=timezone.now())
