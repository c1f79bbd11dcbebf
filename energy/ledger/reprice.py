"""A tariff turns out to have been another: what stands is taken back and written anew."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import QuerySet

from clusters.models import Cluster
from energy.ledger.money import split_mj
from energy.ledger.settle import writing
from energy.ledger.terms import Rates
from energy.ledger.writer import Drawn, LedgerKey, Standing, standing, write_differences
from energy.models import LedgerRow, Meter
from policies.pricing.curve import PriceWindow as Span


def reprice(cluster: Cluster, *, from_at: datetime, until_at: datetime, now: datetime) -> int:
    """Windows that begin in [from_at, until_at) under today's tariff, PUE and carbon series.

    Energy stays where it is; how many rows were added. Doing it twice adds none.
    """
    rows = LedgerRow.objects.filter(cluster=cluster, starts_at__gte=from_at, starts_at__lt=until_at)
    rates = Rates(cluster, from_at, until_at)
    attempts = rows.order_by("attempt_id").values_list("attempt_id", flat=True).distinct()
    return sum(_reprice(attempt_id, rows, rates, now) for attempt_id in list(attempts))


def _reprice(attempt_id: int, rows: QuerySet[LedgerRow], rates: Rates, now: datetime) -> int:
    with writing(attempt_id) as attempt:
        # Also the settling of a running attempt waits for these.
        list(Meter.objects.select_for_update().filter(attempt=attempt).order_by("gpu_id"))
        before = standing(rows.filter(attempt=attempt))
        after: dict[LedgerKey, Drawn] = {}
        for old, stands in before.items():
            for entry, drawn in _under_new_terms(old, stands, rates):
                after[entry] = after.get(entry, Drawn(0, 0)) + drawn
        return write_differences(attempt, before, after, now=now)


def _under_new_terms(
    old: LedgerKey, stands: Standing, rates: Rates
) -> Iterator[tuple[LedgerKey, Drawn]]:
    """A price that changes within the window shares its energy out by time."""
    windows = list(rates.windows(old.starts_at, old.ends_at))
    spans = [Span(w.starts_at.timestamp(), w.ends_at.timestamp(), None) for w in windows]
    shares = zip(
        windows, split_mj(stands.gpu_mj, spans), split_mj(stands.host_mj, spans), strict=True
    )
    for window, gpu_mj, host_mj in shares:
        terms = rates.terms(window, old.terms.method)
        drawn = Drawn(gpu_mj, host_mj, stands.coverage)
        yield LedgerKey(old.gpu_id, window.starts_at, window.ends_at, terms), drawn
