"""The heartbeat: take what a node says, answer what it should run."""

from datetime import datetime

from django.db import connection
from django.db.models import F

from agent.wire import Desired, Sync
from clusters.gpu_faults import gpus_report
from clusters.leases import leases
from clusters.models import Node
from clusters.node_states import State, advance
from jobs.agents.desired import wanted
from jobs.agents.reports import hear
from jobs.agents.stale import StaleEpoch, StaleFences

# By itself and first: it holds no lock while reports lock jobs, and a late sync changes nothing.
_TOUCH = """
UPDATE clusters_node SET last_sync_at = %(now)s, sync_sequence = %(sequence)s,
                         boot_id = %(boot)s
WHERE id = %(node)s AND epoch = %(epoch)s AND sync_sequence < %(sequence)s
"""


def node_sync(node: Node, sync: Sync, *, now: datetime) -> Desired:
    if sync.epoch != node.epoch:
        raise StaleEpoch
    with connection.cursor() as cursor:
        cursor.execute(
            _TOUCH,
            {
                "node": node.pk,
                "epoch": sync.epoch,
                "sequence": sync.sequence + 1,
                "boot": sync.boot_id,
                "now": now,
            },
        )
        late = cursor.rowcount == 0
    if late and not Node.objects.filter(pk=node.pk, epoch=sync.epoch).exists():
        raise StaleEpoch
    heard = hear(node, () if late else sync.attempts, boot_id=sync.boot_id, now=now)
    if heard.refused:
        itself = Node.objects.filter(pk=node.pk)
        itself.update(samples_refused=F("samples_refused") + heard.refused)
    if not late:
        gpus_report(node, sync.gpus)
        _return(node, now)
    if heard.stale:
        raise StaleFences(heard.stale)
    running = wanted(node, now=now)
    granted = leases(_nodes())
    return Desired(
        next_sync_s=granted.next_sync_s,
        node_lease_s=granted.node_lease_s,
        run_lease_s=granted.run_lease_s,
        sample_interval_s=granted.sample_interval_s,
        attempts=running.attempts,
        cancels=running.cancels,
        acks=tuple(heard.acks),
    )


def _return(node: Node, now: datetime) -> None:
    """A lost node that speaks again was only out of hearing."""
    if node.state == State.LOST:
        itself = Node.objects.filter(pk=node.pk)
        advance(itself, sources=[State.LOST], to=State.READY, now=now, reason="")
        node.refresh_from_db(fields=["state"])


def _nodes() -> int:
    return Node.objects.exclude(last_sync_at=None).count()
