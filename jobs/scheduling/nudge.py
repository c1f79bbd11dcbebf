"""Asks for a round soon, when something happened that a round would act on.

A nudge is only latency: when it is lost, the periodic tick runs the round. Each process sends at
most one per cluster and DEBOUNCE_S, and the round starts that much later, so that everything
committed in between is in it.
"""

import logging
from functools import partial
from time import monotonic

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

DEBOUNCE_S = 0.1
TASK = "jobs.round"

logger = logging.getLogger(__name__)
_sent_at: dict[int, float] = {}


def nudge(cluster_id: int) -> None:
    """Once the current transaction commits, wake the cluster's scheduler."""
    transaction.on_commit(partial(_send, cluster_id))


def _send(cluster_id: int) -> None:
    now = monotonic()
    if now - _sent_at.get(cluster_id, -DEBOUNCE_S) < DEBOUNCE_S:
        return
    _sent_at[cluster_id] = now
    try:
        current_app.send_task(
            TASK, args=[cluster_id], countdown=DEBOUNCE_S, expires=60, retry=False
        )
    except (OperationalError, OSError) as error:
        logger.warning("nudge of cluster %s not sent, the tick will do: %s", cluster_id, error)
