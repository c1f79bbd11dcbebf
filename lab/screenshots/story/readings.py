"""What the GPUs drew: a row for every minute of the day, the newest reading, the ledger."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.db import connection

from clusters.models import Cluster
from energy.ledger.terms import Rates, WindowTerms
from energy.measured import measured_minutes
from energy.models import Boot, LedgerRow, Meter, PowerState
from jobs.models import Allocation

DAY = timedelta(days=1)
# Curves pick minutes that are multiples of theirs, up to half an hour.
DAY_PART_S = 1800
# Between the steps of a training job watts fall a little; which GPU, and when, is by its number.
_WAVE = "(0.5 + 0.5 * sin(gpu.id * 1.7 + extract(epoch FROM minute) / 1100.0))"
_FIGURES = f"""
    CASE WHEN held.id IS NULL THEN type.idle_w * 1000
         ELSE (type.max_w * (0.66 + 0.26 * {_WAVE}) * 1000)::int END AS mw,
    CASE WHEN held.id IS NULL THEN 0 ELSE (72 + 26 * {_WAVE})::int END AS pct,
    CASE WHEN held.id IS NULL THEN 31 + gpu.id %% 4 ELSE (58 + 17 * {_WAVE})::int END AS heat,
    CASE WHEN held.id IS NULL THEN 210
         ELSE coalesce(attempt.clock_mhz, type.clocks_mhz[cardinality(type.clocks_mhz)]) END AS mhz
FROM clusters_gpu gpu
JOIN clusters_node node ON node.id = gpu.node_id
JOIN clusters_gputype type ON type.id = node.gpu_type_id
JOIN energy_boot boot ON boot.node_id = node.id
CROSS JOIN generate_series(%(from)s::timestamptz, %(until)s, %(step)s) minute
LEFT JOIN jobs_allocation held ON held.gpu_id = gpu.id AND held.held_at <= minute
      AND (held.released_at IS NULL OR held.released_at > minute)
LEFT JOIN jobs_attempt attempt ON attempt.id = held.attempt_id
WHERE node.cluster_id = %(cluster)s AND node.state <> 'lost'
"""
_MINUTES = f"""
INSERT INTO energy_sampleminute (gpu_id, boot_id, minute_at, samples, first_mj, last_mj, mean_mw,
    max_mw, utilisation_pct, memory_used_mib, temperature_c, clock_mhz)
SELECT gpu_id, boot_id, minute, 60, 0, 0, mw, mw, pct, 40000, heat, mhz
FROM (SELECT gpu.id AS gpu_id, boot.id AS boot_id, minute, {_FIGURES}) figures
"""  # noqa: S608
_NEWEST = f"""
INSERT INTO energy_sample (gpu_id, boot_id, sequence, at, boot_ms, energy_mj, power_mw, attempt_id,
    integrated, utilisation_pct, memory_used_mib, temperature_c, clock_mhz)
SELECT gpu_id, boot_id, 1, minute, 1, 1, mw, attempt_id, false, pct, 40000, heat, mhz
FROM (SELECT gpu.id AS gpu_id, boot.id AS boot_id, minute, held.attempt_id, {_FIGURES}) figures
"""  # noqa: S608
MJ_PER_WATT_HOUR = 3_600_000


def fill_readings(cluster: Cluster, *, now: datetime, every: timedelta) -> None:
    """Newest readings lie ahead, so that they stay fresh while pictures are taken."""
    minute = datetime.fromtimestamp(now.timestamp() // DAY_PART_S * DAY_PART_S, UTC)
    with connection.cursor() as cursor:
        span: dict[str, Any] = {
            "cluster": cluster.pk,
            "from": minute - DAY,
            "until": now,
            "step": every,
        }
        cursor.execute(_MINUTES, span)
        soon = now + timedelta(hours=1)
        cursor.execute(_NEWEST, {**span, "from": soon, "until": soon})


def make_readings(cluster: Cluster, *, now: datetime, every: timedelta) -> None:
    minute = now.replace(second=0, microsecond=0)
    fill_readings(cluster, now=now, every=every)
    rows = LedgerRow.objects.bulk_create(_ledger(cluster, now))
    Meter.objects.bulk_create(_meters(rows, now))
    drawn = measured_minutes(
        cluster.pk, partition_id=None, from_at=minute - timedelta(minutes=29), until_at=now
    )
    PowerState.objects.create(
        cluster=cluster,
        budget_w=cluster.power_budget_w,
        measured_w=drawn[-1][1] if drawn else None,
        measured_at=minute,
        energy_from_at=minute.replace(hour=0, minute=0),
        energy_counted_at=minute,
        energy_drawn_j=sum(watts for _, watts, _ in drawn)
        / max(1, len(drawn))
        * minute.hour
        * 3600,
    )


def _ledger(cluster: Cluster, now: datetime) -> Iterator[LedgerRow]:
    """Each GPU at four fifths of its watts and its share of the host, window by window."""
    held = Allocation.objects.filter(node__cluster=cluster).select_related("node__gpu_type")
    rates = Rates(cluster, held.earliest("held_at").held_at, now)
    for row in held.order_by("pk"):
        end = row.released_at or now
        watts, host_w = row.node.gpu_type.max_w * 0.8, row.node.host_peak_w / 8
        for window in rates.windows(row.held_at, end):
            starts_at, ends_at = max(window.starts_at, row.held_at), min(window.ends_at, end)
            hours = (ends_at - starts_at) / timedelta(hours=1)
            gpu_mj, host_mj = (int(w * hours * MJ_PER_WATT_HOUR) for w in (watts, host_w))
            terms = WindowTerms(
                "counter", cluster.pue, window.price_per_kwh, window.g_per_kwh, cluster.currency
            )
            yield LedgerRow(
                tenant_id=row.tenant_id,
                cluster=cluster,
                attempt_id=row.attempt_id,
                gpu_id=row.gpu_id,
                starts_at=starts_at,
                ends_at=ends_at,
                gpu_mj=gpu_mj,
                host_mj=host_mj,
                cost=terms.cost(gpu_mj + host_mj),
                carbon_g=terms.carbon_g(gpu_mj + host_mj),
                coverage=1.0,
                written_at=now,
                method=terms.method,
                pue=Decimal(terms.pue),
                price_per_kwh=terms.price_per_kwh,
                g_per_kwh=terms.g_per_kwh,
                currency=terms.currency,
            )


def _meters(rows: Sequence[LedgerRow], now: datetime) -> Iterator[Meter]:
    """Of each attempt and GPU what the ledger says; counters go on where the last one ended."""
    boots = dict(Boot.objects.values_list("node__gpu__id", "id"))
    counted: Counter[int] = Counter()
    for (attempt_id, gpu_id), own in groupby(rows, key=lambda row: (row.attempt_id, row.gpu_id)):
        windows = list(own)
        start = counted[gpu_id]
        counted[gpu_id] += sum(row.gpu_mj for row in windows)
        yield Meter(
            tenant_id=windows[0].tenant_id,
            attempt_id=attempt_id,
            gpu_id=gpu_id,
            boot_id=boots[gpu_id],
            start_mj=start,
            now_mj=counted[gpu_id],
            since_at=windows[0].starts_at,
            until_at=windows[-1].ends_at,
            settled_at=now,
        )
