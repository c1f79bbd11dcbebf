"""Samples come in by COPY: whose they are is looked up here, whether they can be true is not.

The request only appends to the inbox, so that a thousand nodes do not wait for one another's
indexes; `digest.py` reads the inbox a second later, for all nodes at once.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F

from agent.wire import EnergyMethod, Telemetry
from clusters.models import Node
from energy.telemetry.boots import boot_number, gpus_of
from engines.agents.authentication import Sender
from engines.agents.stale import StaleEpoch
from rest.problems import Contradiction, Problem

# About ten minutes of a thousand nodes: whoever should read the inbox does not.
INBOX_MOST = 2_000_000
LOOK_EVERY_S = 5.0

_COPY = """
COPY energy_sampleinbox (node_id, gpu_id, boot_id, sequence, at, boot_ms, energy_mj, power_mw,
    attempt_id, integrated, utilisation_pct, memory_used_mib, temperature_c, clock_mhz) FROM STDIN
"""


class Inbox:
    """Looked at now and then, so that its length costs a request nothing."""

    def __init__(self) -> None:
        self._rows, self._looked_s = 0, float("-inf")

    def refuse_if_full(self, now_s: float) -> None:
        if now_s - self._looked_s > LOOK_EVERY_S:
            self._looked_s = now_s
            with connection.cursor() as cursor:
                cursor.execute("SELECT coalesce(max(id) - min(id), 0) FROM energy_sampleinbox")
                self._rows = cursor.fetchone()[0]
        if self._rows > INBOX_MOST:
            detail = "Samples come in faster than they are read; keep them and come back."
            headers = {"Retry-After": "10"}
            raise Problem(detail, code="samples_shed", status=429, headers=headers)


INBOX = Inbox()


def telemetry_take(sender: Sender, telemetry: Telemetry, *, now: datetime) -> int:
    """How many samples went in; those of GPUs that are not the node's, or too old, are counted."""
    if telemetry.epoch != sender.epoch:
        raise StaleEpoch
    INBOX.refuse_if_full(monotonic())
    boot = boot_number(sender.node_id, telemetry.boot_id, now=now)
    if boot is None:
        raise Contradiction.at("/boot_id", "too_many_boots", "The node has booted too often today.")
    rows = list(_rows(sender, boot, telemetry, now))
    if rows:
        _copy(rows)
    _note(sender, refused=len(telemetry.samples) - len(rows), shed=telemetry.samples_shed)
    return len(rows)


def _rows(
    sender: Sender, boot: int, telemetry: Telemetry, now: datetime
) -> Iterator[tuple[Any, ...]]:
    gpus = gpus_of(sender.node_id, sender.epoch)
    oldest_ms = telemetry.sent_boot_ms - 1000 * settings.SAMPLES_KEEP_S
    for sample in telemetry.samples:
        gpu = gpus.get(sample.uuid)
        if gpu is None or sample.boot_ms < oldest_ms:
            continue
        yield (
            sender.node_id,
            gpu,
            boot,
            sample.sequence,
            now - timedelta(milliseconds=telemetry.sent_boot_ms - sample.boot_ms),
            sample.boot_ms,
            sample.energy_mj,
            sample.power_mw,
            sample.attempt_id,
            sample.energy_method is EnergyMethod.INTEGRATED,
            sample.utilisation_pct,
            sample.memory_used_mib,
            sample.temperature_c,
            sample.clock_mhz,
        )


def _copy(rows: list[tuple[Any, ...]]) -> None:
    """Django wraps the errors of its own cursor's methods, and `copy` is none of them."""
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(_COPY) as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _note(sender: Sender, *, refused: int, shed: int) -> None:
    if refused or shed != sender.samples_shed:
        Node.objects.filter(pk=sender.node_id).update(
            samples_refused=F("samples_refused") + refused, samples_shed=shed
        )
