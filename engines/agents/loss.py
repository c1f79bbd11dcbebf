"""Nodes that fell silent: first they get no more work, much later their attempts are given up.

Three things keep a hiccup small. The watch's own pause expires nothing: after it, every node has a
fresh lease. When most nodes of a cluster fall silent at once, the fault is more likely here than
there: the brake is on and nobody is marked lost. A node that keeps coming and going is quarantined
until an operator looks at it.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, F, Q

from clusters.models import Cluster, Node
from clusters.node_states import State, advance
from engines.agents.leases import Leases, dead_since, leases, quiet_since, silent_since
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
WATCHED = (State.READY, State.DRAINING, State.DRAINED)

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
    agents = Node.objects.exclude(last_sync_at=None)
    granted = leases(agents.count())
    silent, dead = silent_since(now, granted), dead_since(now, granted)
    if resumed_at < silent:
        for cluster in Cluster.objects.order_by("pk"):
            if not _brake(cluster, granted, now):
                _mark_lost(cluster, silent, now)
    if resumed_at < dead:
        _give_up(dead, now)


def _watching(now: datetime) -> datetime:
    """Since when somebody has watched without a pause."""
    with connection.cursor() as cursor:
        cursor.execute(_WATCH, {"now": now, "paused_at": now - PAUSE})
        resumed_at: datetime = cursor.fetchone()[0]
    return resumed_at


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


def _brake(cluster: Cluster, granted: Leases, now: datetime) -> bool:
    """Whether nothing may be marked lost; said once when it begins and once when it ends.

    Nodes speak at different moments, so their leases end one after another. That most are silent is
    therefore looked for after half a lease, and those just lost count among them.
    """
    watched = Q(state__in=WATCHED) | Q(state=State.LOST, last_sync_at__gte=dead_since(now, granted))
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


def _give_up(dead: datetime, now: datetime) -> None:
    """Attempts whose run lease is over: their processes are gone, their GPUs are free."""
    silent = Q(
        allocation__released_at=None,
        allocation__node__last_sync_at__lt=dead,
        allocation__node__state__in=(State.LOST, State.QUARANTINED),
    )
    live = Attempt.objects.filter(state__in=("starting", "running", "stopping"))
    attempts = live.filter(silent | Q(parts__unreported_at__lt=dead))
    for attempt_id, job_id in attempts.values_list("pk", "job_id").distinct():
        _lose(attempt_id, job_id, now)


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
