"""Nodes that fell silent: first they get no more work, much later their attempts are given up.

Three things keep a hiccup small. The watch's own pauses count against nobody: they are written
down, and taken off every silence that they lie in. When most nodes of a cluster fall silent at
once, the fault is more likely here than there: the brake is on and nobody is marked lost. A node
that keeps coming and going is quarantined until an operator looks at it.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet

from clusters.models import Cluster, Node, WatchPause
from clusters.node_states import State, advance
from clusters.services.site_power import BOOT
from engines.agents.leases import (
    Leases,
    WatchGap,
    is_over,
    leases,
    lost_lately_since,
    quiet_since,
    silent_since,
)
from jobs.attempts import attempts_end
from jobs.lifecycle import MOVES
from jobs.lifecycle import State as JobState
from jobs.lifecycle import advance as advance_jobs
from jobs.models import Attempt, Job
from jobs.nudge import nudge
from scheduling.apply import relocation

logger = logging.getLogger(__name__)

# Two nodes of three are "most"; in a cluster of one or two, one silent node is only that.
BRAKE_NODES, BRAKE_SHARE = 3, 0.5
FLAPS, FLAP_WINDOW = 3, timedelta(hours=1)
# A watch that ran this long ago was not watching.
PAUSE = timedelta(seconds=10)
# As long as the longest run lease, and a day more.
PAUSES_KEPT = timedelta(days=2)
WATCHED = (State.READY, State.DRAINING, State.DRAINED)

_PAUSED = """
INSERT INTO clusters_watchpause (began_at, ended_at)
SELECT watched_at, %(now)s FROM clusters_watch WHERE id = 1 AND watched_at < %(paused_at)s
FOR UPDATE
"""
_WATCH = """
INSERT INTO clusters_watch (id, watched_at, resumed_at) VALUES (1, %(now)s, %(now)s)
ON CONFLICT (id) DO UPDATE SET
    resumed_at = CASE WHEN clusters_watch.watched_at < %(paused_at)s
                      THEN %(now)s ELSE clusters_watch.resumed_at END,
    watched_at = greatest(clusters_watch.watched_at, %(now)s)
RETURNING resumed_at
"""


def watch_nodes(*, now: datetime) -> None:
    resumed_at = _watching(now)
    granted = leases(Node.objects.exclude(last_sync_at=None).count())
    silent = silent_since(now, granted)
    if resumed_at < silent:
        for cluster in Cluster.objects.order_by("pk"):
            if not _brake(cluster, granted, now):
                _mark_lost(cluster, silent, now)
                _watch_those_off(cluster, silent, now)
    _give_up(now)


def _watching(now: datetime) -> datetime:
    """Since when somebody has watched without a pause; a pause that ends now is written down."""
    values = {"now": now, "paused_at": now - PAUSE}
    with transaction.atomic(), connection.cursor() as cursor:
        # Whoever looks second waits for the row, and then sees that somebody has looked.
        cursor.execute(_PAUSED, values)
        cursor.execute(_WATCH, values)
        resumed_at: datetime = cursor.fetchone()[0]
    return resumed_at


def forget_pauses(*, now: datetime) -> None:
    WatchPause.objects.filter(ended_at__lt=now - PAUSES_KEPT).delete()


def _mark_lost(cluster: Cluster, silent: datetime, now: datetime) -> None:
    watched = Node.objects.filter(cluster=cluster, state__in=WATCHED, last_sync_at__isnull=False)
    unheard = watched.filter(last_sync_at__lt=silent)
    names = list(unheard.values_list("name", flat=True)[:10])
    if not names:
        return
    logger.warning("cluster %s: no sync from %s; marked lost", cluster.name, ", ".join(names))
    _count_flaps(unheard.values_list("pk", flat=True), now)
    flapping = unheard.filter(losses__gte=FLAPS)
    advance(flapping, sources=WATCHED, to=State.QUARANTINED, now=now, reason="flapping")
    advance(unheard, sources=WATCHED, to=State.LOST, now=now, reason="no sync within its lease")


def _watch_those_off(cluster: Cluster, silent: datetime, now: datetime) -> None:
    """A node is off if it was told so, and then fell silent in time.

    One that did not hear it was gone before. One that said so itself speaks on while it is off.
    One that goes on saying that it is on draws as ever, and may as well have work.
    """
    off = Node.objects.filter(cluster=cluster, updated_at__lt=silent)
    gone = off.filter(~Q(power_told="off") | Q(power_said="off"), last_sync_at__lt=silent)
    if advance(
        gone, sources=[State.OFF], to=State.LOST, now=now, reason="no sync within its lease"
    ):
        logger.warning("cluster %s: nodes that should be off are lost", cluster.name)
    still_on = off.filter(power_said="on", last_sync_at__gte=silent, updated_at__lt=now - BOOT)
    advance(still_on, sources=[State.OFF], to=State.READY, now=now, reason="did not go off")


def _brake(cluster: Cluster, granted: Leases, now: datetime) -> bool:
    """Whether nothing may be marked lost; said once when it begins and once when it ends.

    Nodes speak at different moments, so their leases end one after another. That most are silent is
    therefore looked for after half a lease, and those just lost count among them.
    """
    watched = Q(state__in=WATCHED) | Q(
        state=State.LOST, last_sync_at__gte=lost_lately_since(now, granted)
    )
    quiet = Q(last_sync_at__lt=quiet_since(now, granted))
    nodes = Node.objects.filter(watched, cluster=cluster, last_sync_at__isnull=False)
    count = nodes.aggregate(all=Count("pk"), quiet=Count("pk", filter=quiet))
    on: bool = count["all"] >= BRAKE_NODES and count["quiet"] > BRAKE_SHARE * count["all"]
    if on and cluster.brake_since_at is None:
        logger.error("cluster %s: %d of %d nodes silent at once; the brake is on", cluster.name,
                     count["quiet"], count["all"])  # fmt: skip
        Cluster.objects.filter(pk=cluster.pk).update(brake_since_at=now)
    elif not on and cluster.brake_since_at is not None:
        logger.warning("cluster %s: nodes are back; the brake is off", cluster.name)
        Cluster.objects.filter(pk=cluster.pk).update(brake_since_at=None)
    return on


def _count_flaps(node_ids: Iterable[int], now: datetime) -> None:
    lost = Node.objects.filter(pk__in=list(node_ids))
    lost.exclude(losses_since__gt=now - FLAP_WINDOW).update(losses=0, losses_since=now)
    lost.update(losses=F("losses") + 1)


def _give_up(now: datetime) -> None:
    """Attempts whose run lease is over: their processes are gone, their GPUs are free."""
    pauses = [
        WatchGap(*row)
        for row in WatchPause.objects.filter(ended_at__gt=now - PAUSES_KEPT).values_list(
            "began_at", "ended_at"
        )
    ]
    for attempt_id, job_id, run_lease_s, heard_at in [*_on_silent_nodes(), *_unreported()]:
        if heard_at is not None and is_over(run_lease_s, heard_at, pauses, now):
            _lose(attempt_id, job_id, now)


_Unheard = tuple[int, int, int | None, datetime | None]


def _live() -> QuerySet[Attempt]:
    return Attempt.objects.filter(state__in=("starting", "running", "stopping"))


def _on_silent_nodes() -> Iterable[_Unheard]:
    on_lost = Q(
        allocation__released_at=None,
        allocation__node__state__in=(State.LOST, State.QUARANTINED),
        allocation__node__last_sync_at__isnull=False,
    )
    columns = ("pk", "job_id", "run_lease_s", "allocation__node__last_sync_at")
    return _live().filter(on_lost).values_list(*columns).distinct()


def _unreported() -> Iterable[_Unheard]:
    """Of nodes that speak, but not of these."""
    silent = _live().filter(parts__unreported_at__isnull=False)
    return silent.values_list("pk", "job_id", "run_lease_s", "parts__unreported_at").distinct()


@transaction.atomic
def _lose(attempt_id: int, job_id: int, now: datetime) -> None:
    job = Job.objects.select_for_update().get(pk=job_id)
    attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
    relocation.lock_relocation(attempt, now=now)
    if not attempts_end([attempt_id], state=Attempt.State.LOST, reason="node_lost", now=now):
        return
    to, reason = _after_loss(job, attempt)
    holding = (JobState.PLACED, JobState.RUNNING, JobState.PREEMPTING)
    sources = [state for state in holding if to in MOVES[state]]
    advance_jobs([job_id], sources=sources, to=to, reason=reason, now=now)
    if to is JobState.QUEUED:
        relocation.start_relocated(attempt, job, now=now)
    nudge(job.cluster_id)


def _after_loss(job: Job, attempt: Attempt) -> tuple[JobState, str]:
    if attempt.reason == "cancel_requested":
        return JobState.CANCELLED, "cancelled"
    if job.restartable:
        return JobState.QUEUED, "node_lost"
    return JobState.FAILED, "node_lost"
