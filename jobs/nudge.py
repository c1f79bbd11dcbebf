"""Asks for a round soon, when something happened that a round would act on.

A nudge is only latency: when it is lost, the periodic tick runs the round. One that the broker does
not take is left in Postgres, as a round that is due now. Each process sends at
most one per cluster and DEBOUNCE_S, and the round starts that much later, so that everything
committed in between is in it. A thread sends, because a broker that is away would hold the request
for seconds.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from time import monotonic

from celery import current_app
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from clusters.models import Cluster

DEBOUNCE_S = 0.1
TASK = "jobs.round"

logger = logging.getLogger(__name__)
_sent_at: dict[int, float] = {}
_sending: set[int] = set()


def nudge(cluster_id: int) -> None:
    """Once the current transaction commits, wake the cluster's scheduler."""
    transaction.on_commit(partial(_send, cluster_id))


def _send(cluster_id: int) -> None:
    now = monotonic()
    if cluster_id in _sending or now - _sent_at.get(cluster_id, -DEBOUNCE_S) < DEBOUNCE_S:
        return
    _sent_at[cluster_id] = now
    _sending.add(cluster_id)
    _sender().submit(_publish, cluster_id)


@cache
def _sender() -> ThreadPoolExecutor:
    """Made at the first nudge: threads do not survive the fork of a server's worker."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="nudge")


def _publish(cluster_id: int) -> None:
    try:
        current_app.send_task(
            TASK, args=[cluster_id], countdown=DEBOUNCE_S, expires=60, retry=False
        )
    except (OperationalError, OSError) as error:
        text = "nudge of cluster %s not sent, the tick will do: %s"
        logger.warning(text, cluster_id, error, extra={"outage": True})
        _leave(cluster_id)
    finally:
        _sending.discard(cluster_id)


def _leave(cluster_id: int) -> None:
    try:
        rows = Cluster.objects.filter(pk=cluster_id, next_round_at__gt=Now())
        rows.update(next_round_at=Now())
    except DatabaseError as error:
        logger.warning("nudge of cluster %s is lost: %s", cluster_id, type(error).__name__)
    finally:
        # This thread comes here seldom.
        connection.close()
