"""What has to be done again and again: each reads the clock and calls services, nothing else.

Beat asks a worker for them through the broker. What nobody did in time, because the broker, beat or
the workers are away, the ticker does in its own process (scheduler_service/ticker.py).
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from clusters.services import nodes_finish_draining
from clusters.services.site_power import site_power_apply
from energy.budgets.watch import power_watch
from energy.clocks import clocks_verify
from energy.ledger.settle import settle_due
from energy.telemetry.digest import samples_digest
from energy.telemetry.retention import forget_logs, forget_samples
from energy.telemetry.roll_up import samples_roll_up
from engines.agents.loss import forget_pauses, watch_nodes
from engines.agents.stopped import stopped_finish
from jobs.artifacts import artifacts_forget, blobs_collect
from jobs.profiling.fits import fits_due
from jobs.profiling.learning import attempts_learn
from jobs.profiling.runs import profiling_runs_advance
from rest.idempotency import purge
from scheduler_service.models import DutyRecord
from scheduling.due import due_clusters, round_claim
from scheduling.lock import sitters_end
from scheduling.retention import forget_rounds
from storage.uploads import uploads_expire
from tenancy.audit_seals import audit_seal
from webhooks.services import deliveries_forget

# How much later than its time a duty may be before the ticker does it.
PATIENCE = timedelta(seconds=2)

_NOTE = """
INSERT INTO scheduler_service_dutyrecord (name, ran_at, runner)
VALUES (%(name)s, %(now)s, 'worker')
ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, runner = 'worker'
RETURNING set_config('synchronous_commit', 'off', true)
"""
_CLAIM = """
INSERT INTO scheduler_service_dutyrecord AS known (name, ran_at, runner)
VALUES (%(name)s, %(now)s, 'ticker')
ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, runner = 'ticker'
WHERE known.ran_at <= CASE known.runner WHEN 'ticker' THEN %(ticker_at)s ELSE %(worker_at)s END
RETURNING name
"""


def rounds_take(*, now: datetime) -> list[int]:
    """Clusters whose round is due; claiming it makes a second look harmless."""
    return [cluster for cluster in due_clusters(now) if round_claim(cluster, now=now)]


def watch() -> None:
    """Find nodes that fell silent, end what nobody will report, and drain those that ran dry."""
    now = timezone.now()
    watch_nodes(now=now)
    stopped_finish(now=now)
    nodes_finish_draining(now=now)
    sitters_end()


def digest() -> None:
    """Read the samples that came in, and settle the attempts whose time has come."""
    samples_digest()
    settle_due(now=timezone.now())


def steer() -> None:
    """Let profiling runs in, and take those under way to their next configuration."""
    profiling_runs_advance(now=timezone.now())


def learn() -> None:
    """Take in what attempts teach about their profiles, and fit those that have learned."""
    attempts_learn(now=timezone.now())
    fits_due(now=timezone.now())


def sweep() -> None:
    now = timezone.now()
    audit_seal(now=now)
    forget_rounds(now=now)
    forget_pauses(now=now)
    samples_roll_up(now=now)
    clocks_verify(now=now)
    forget_samples(now=now)
    forget_logs(now=now)
    artifacts_forget(now=now)
    blobs_collect(now=now)
    uploads_expire(now=now)
    deliveries_forget(now=now)
    purge(now=now)


def power() -> None:
    """Hold what was measured against the power budgets, and call rounds when these change."""
    power_watch(now=timezone.now())


def switches() -> None:
    """Tell the site which nodes to power off and on."""
    site_power_apply(now=timezone.now())


# By their names in CELERY_BEAT_SCHEDULE, which says how often; `tick` begins the due rounds, and
# how depends on who does it.
DUTIES: dict[str, Callable[[], None]] = {
    "watch": watch,
    "power": power,
    "switches": switches,
    "digest": digest,
    "steer": steer,
    "learn": learn,
    "sweep": sweep,
}
TICK = "tick"


def note(name: str) -> None:
    """A worker is at it."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, {"name": name, "now": timezone.now()})


def overdue(*, now: datetime) -> list[str]:
    """For the ticker: duties that nobody did in time, and those that are its own by now."""
    known = {record.name: record for record in DutyRecord.objects.all()}
    return [
        name
        for name in (TICK, *DUTIES)
        if name not in known or known[name].ran_at <= _late(name, known[name].runner, now)
    ]


def claim(name: str, *, now: datetime) -> bool:
    """Whether it still is, and nobody else took it."""
    late = {f"{runner}_at": _late(name, runner, now) for runner in DutyRecord.Runner.values}
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"name": name, "now": now, **late})
        return cursor.fetchone() is not None


def _late(name: str, runner: str, now: datetime) -> datetime:
    """What was last done before then is late; once the ticker does it, it keeps the usual pace."""
    every_s: float = settings.CELERY_BEAT_SCHEDULE[name]["schedule"]
    due_at = now - timedelta(seconds=every_s)
    return due_at if runner == DutyRecord.Runner.TICKER else due_at - PATIENCE
