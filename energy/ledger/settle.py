"""Attempts are settled: every full hour while they run, when they are over, and once more later.

What an attempt drew on a GPU is the difference of two counter readings that its node reported, so
no sample, lost, late or doubled, changes the sum. Samples only say in which window it was drawn.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count

from clusters.models import Node
from energy.ledger.line import Line
from energy.ledger.meters import HOUR_SETTLES, after_this_hour
from energy.ledger.terms import Rates
from energy.ledger.writer import Drawn, LedgerKey, standing, write_differences
from energy.models import LedgerRow, Meter
from jobs.models import Attempt
from policies.pricing.cost import host_mj

BATCH = 200
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
OVER = (Attempt.State.ENDED, Attempt.State.LOST)

_READINGS = """
SELECT (extract(epoch FROM at) * 1000000)::int8, energy_mj FROM energy_sample
WHERE gpu_id = %s AND boot_id = %s AND attempt_id = %s AND energy_mj BETWEEN %s AND %s
ORDER BY sequence
"""


@dataclass(frozen=True, slots=True)
class HostPart:
    """What of a host goes with each of its GPUs."""

    peak_w: int
    gpus: int

    def mj(self, us: int) -> int:
        return host_mj(self.peak_w, self.gpus, us)


def settle_due(*, now: datetime, batch: int = BATCH) -> int:
    """Settle the attempts whose time has come; how many rows were added."""
    due = Meter.objects.filter(due_at__lte=now).order_by("due_at")
    attempts = list(dict.fromkeys(due.values_list("attempt_id", flat=True)[:batch]))
    return sum(settle(attempt_id, now=now) for attempt_id in sorted(attempts))


@contextmanager
def writing(attempt_id: int) -> Iterator[Attempt]:
    """One writer of an attempt's ledger at a time; then its meters, as reports lock them, too."""
    with transaction.atomic():
        rows = Attempt.objects.select_related("cluster", "cluster__tariff")
        attempt = rows.select_for_update(of=("self",), no_key=True).get(pk=attempt_id)
        yield attempt


def settle(attempt_id: int, *, now: datetime) -> int:
    with writing(attempt_id) as attempt:
        rows = Meter.objects.select_for_update().filter(attempt=attempt)
        meters = list(rows.order_by("gpu_id"))
        if not meters:
            return 0
        rates = Rates(
            attempt.cluster,
            min(meter.since_at for meter in meters),
            max(meter.until_at for meter in meters),
        )
        hosts = _hosts(meters)
        before = standing(LedgerRow.objects.filter(attempt=attempt))
        after: dict[LedgerKey, Drawn] = {}
        for meter in meters:
            line, ended = _line(meter), meter.final or attempt.state in OVER
            known_at = meter.until_at if ended else min(_last_hour(now), meter.until_at)
            host = hosts[meter.gpu_id]
            after.update(_entries(meter, line, rates, host, ended=ended, known_at=known_at))
            before = {entry: s for entry, s in before.items() if not _is_closed(entry, meter)}
            _move_on(meter, line, ended, known_at, now)
        written = write_differences(attempt, before, after, now=now)
        Meter.objects.bulk_update(meters, ["settled_at", "settled_mj", "due_at"])
    return written


def _entries(
    meter: Meter, line: Line, rates: Rates, host: HostPart, *, ended: bool, known_at: datetime
) -> Iterator[tuple[LedgerKey, Drawn]]:
    method = LedgerRow.Method.INTEGRATED if meter.integrated else LedgerRow.Method.COUNTER
    since_us, until_us = _us(meter.since_at), _us(meter.until_at)
    for window in rates.windows(meter.settled_at or meter.since_at, known_at):
        if not ended and window.ends_at > known_at:
            return
        from_us = max(_us(window.starts_at), since_us)
        to_us = min(_us(window.ends_at), until_us)
        drawn = Drawn(
            gpu_mj=line.mj_at(to_us) - line.mj_at(from_us),
            host_mj=host.mj(to_us - since_us) - host.mj(from_us - since_us),
            coverage=line.coverage(from_us, to_us),
        )
        if drawn.energy_mj:
            terms = rates.terms(window, method)
            yield LedgerKey(meter.gpu_id, window.starts_at, window.ends_at, terms), drawn


def _is_closed(entry: LedgerKey, meter: Meter) -> bool:
    """Windows that stand for good, because their samples may be gone."""
    closed_at = meter.settled_at
    return entry.gpu_id == meter.gpu_id and closed_at is not None and entry.starts_at < closed_at


def _move_on(meter: Meter, line: Line, ended: bool, known_at: datetime, now: datetime) -> None:
    """When to look again: samples may be late by half of the time for which they are kept."""
    patience = timedelta(seconds=settings.SAMPLES_KEEP_S / 2)
    if ended:
        again_at = meter.until_at + patience
        meter.due_at = again_at if again_at > now else None
        return
    meter.due_at = after_this_hour(now)
    closed_at = min(_last_hour(now - patience), _full_hour(known_at))
    if closed_at > (meter.settled_at or meter.since_at):
        meter.settled_at, meter.settled_mj = closed_at, line.mj_at(_us(closed_at))


def _line(meter: Meter) -> Line:
    start_at, start_mj = meter.since_at, meter.start_mj
    if meter.settled_at is not None and meter.settled_mj is not None:
        start_at, start_mj = meter.settled_at, meter.settled_mj
    with connection.cursor() as cursor:
        stretch = [meter.gpu_id, meter.boot_id, meter.attempt_id, start_mj, meter.now_mj]
        cursor.execute(_READINGS, stretch)
        readings = cursor.fetchall()
    start, end = (_us(start_at), start_mj), (_us(meter.until_at), meter.now_mj)
    return Line.between(start, end, readings)


def _hosts(meters: list[Meter]) -> dict[int, HostPart]:
    nodes = Node.objects.filter(gpu__in=[meter.gpu_id for meter in meters])
    rows = nodes.annotate(gpus=Count("gpu__node__gpu", distinct=True))
    return {
        gpu_id: HostPart(peak_w, gpus)
        for gpu_id, peak_w, gpus in rows.values_list("gpu", "host_peak_w", "gpus")
    }


def _last_hour(now: datetime) -> datetime:
    return _full_hour(now - HOUR_SETTLES)


def _full_hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _us(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND
