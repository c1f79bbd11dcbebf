"""Sends runs and forecasts to their workers; the sweep sends again what was lost."""

import logging
from collections.abc import Sequence
from functools import partial

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

RUN, FORECAST = "whatif.run", "whatif.forecast"
# Long work has workers of its own, so that no round waits behind a simulation; they empty their
# queues by name, so that a forecast waits for runs under way only, not for a whole sweep.
QUEUES = {RUN: "simulations", FORECAST: "forecasts"}

logger = logging.getLogger(__name__)


def send(task: str, ids: Sequence[int]) -> None:
    """Once the current transaction commits, send one message per id."""
    transaction.on_commit(partial(_publish, task, ids))


def _publish(task: str, ids: Sequence[int]) -> None:
    for row_id in ids:
        try:
            current_app.send_task(task, args=[row_id], queue=QUEUES[task], retry=False)
        except (OperationalError, OSError) as error:
            logger.warning("%s of %s not sent, the sweep will do: %s", task, row_id, error)
            return
