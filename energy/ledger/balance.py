"""Whether it adds up: what attempts drew, what was idle and what nobody saw is the counter.

A *gap* is energy that was counted between two readings far apart, while no attempt held the GPU.
Gaps are neither idle nor zero: nobody was there to see.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Sum

from clusters.models import Gpu, Node
from energy.ledger.line import GAP_US
from energy.models import GpuCounter, LedgerRow, Meter

Stretch = tuple[int, int]
# One boot of one GPU: that is what counts without starting anew.
Line = tuple[int, int]

_FAR_APART = """
SELECT gpu_id, boot_id, before_mj, energy_mj FROM (
    SELECT sample.gpu_id, sample.boot_id, sample.energy_mj, sample.boot_ms,
           lag(sample.energy_mj) OVER line AS before_mj,
           lag(sample.boot_ms) OVER line AS before_ms
    FROM energy_sample sample JOIN energy_gpucounter counter USING (gpu_id, boot_id)
    WHERE sample.gpu_id = ANY(%(gpus)s) AND sample.sequence >= counter.kept_from
      AND (%(before)s::timestamptz IS NULL OR sample.at < %(before)s)
    WINDOW line AS (PARTITION BY sample.gpu_id, sample.boot_id ORDER BY sample.sequence)
) read WHERE boot_ms - before_ms > %(gap_ms)s
"""


@dataclass(frozen=True, slots=True)
class GpuBalance:
    """Millijoules; `counter_mj` is `billed_mj + open_mj + idle_mj + gap_mj`, always."""

    uuid: str
    index: int
    # The newest reading, and everything counted since the first.
    reading_mj: int
    counter_mj: int
    billed_mj: int
    # Of attempts, but not yet in the ledger.
    open_mj: int
    idle_mj: int
    gap_mj: int


def node_balance(node: Node) -> list[GpuBalance]:
    gpus = list(Gpu.objects.filter(node=node).order_by("index"))
    ids = [gpu.pk for gpu in gpus]
    counters = list(GpuCounter.objects.filter(gpu__in=ids).order_by("boot_id"))
    stretches = attempts_stretches(ids)
    unseen = gaps(ids)
    billed = dict(
        LedgerRow.objects.filter(gpu__in=ids).order_by().values_list("gpu").annotate(Sum("gpu_mj"))
    )
    return [
        _balance(
            gpu,
            [counter for counter in counters if counter.gpu_id == gpu.pk],
            {line: held for line, held in stretches.items() if line[0] == gpu.pk},
            {line: mj for line, mj in unseen.items() if line[0] == gpu.pk},
            int(billed.get(gpu.pk, 0)),
        )
        for gpu in gpus
    ]


def _balance(
    gpu: Gpu,
    counters: Sequence[GpuCounter],
    stretches: dict[Line, list[Stretch]],
    unseen: dict[Line, int],
    billed_mj: int,
) -> GpuBalance:
    """An attempt's own readings count as the counter's, too: they may come before the samples."""
    ends = {(c.gpu_id, c.boot_id): [(c.first_mj, c.last_mj)] for c in counters}
    for line, held in stretches.items():
        ends.setdefault(line, []).extend(held)
    counter_mj = sum(max(b for _, b in held) - min(a for a, _ in held) for held in ends.values())
    drawn_mj = sum(end - start for held in stretches.values() for start, end in held)
    gap_mj = sum(counter.gap_mj for counter in counters) + sum(unseen.values())
    newest = max(ends, default=None, key=lambda line: line[1])
    return GpuBalance(
        uuid=gpu.uuid,
        index=gpu.index,
        reading_mj=max(b for _, b in ends[newest]) if newest else 0,
        counter_mj=counter_mj,
        billed_mj=billed_mj,
        open_mj=drawn_mj - billed_mj,
        idle_mj=counter_mj - drawn_mj - gap_mj,
        gap_mj=gap_mj,
    )


def attempts_stretches(gpu_ids: Iterable[int]) -> dict[Line, list[Stretch]]:
    found: dict[Line, list[Stretch]] = defaultdict(list)
    rows = Meter.objects.filter(gpu__in=list(gpu_ids)).order_by("start_mj")
    for gpu, boot, start, end in rows.values_list("gpu_id", "boot_id", "start_mj", "now_mj"):
        found[gpu, boot].append((start, end))
    return found


def gaps(gpu_ids: Sequence[int], *, before: datetime | None = None) -> dict[Line, int]:
    """Energy between readings far apart, of samples that are still there and of no attempt."""
    with connection.cursor() as cursor:
        values = {"gpus": list(gpu_ids), "before": before, "gap_ms": GAP_US // 1000}
        cursor.execute(_FAR_APART, values)
        far_apart = cursor.fetchall()
    held = attempts_stretches({gpu for gpu, *_ in far_apart}) if far_apart else {}
    found: dict[Line, int] = defaultdict(int)
    for gpu, boot, start, end in far_apart:
        found[gpu, boot] += outside((start, end), held.get((gpu, boot), ()))
    return found


def outside(stretch: Stretch, held: Iterable[Stretch]) -> int:
    """What of the stretch lies in none of the others, which do not overlap one another."""
    start, end = stretch
    inside = sum(max(0, min(end, b) - max(start, a)) for a, b in held)
    return end - start - inside
