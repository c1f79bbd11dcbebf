"""Many samples, shuffled and doubled: the ledger is right to the millijoule.

A third of a million in `make test`; with `--hypothesis-profile thorough` a million.
"""

from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.db.models import Sum
from numpy.typing import NDArray

from clusters.models import Gpu, Node
from energy.ledger.balance import node_balance
from energy.ledger.settle import settle
from energy.models import Boot, LedgerRow, Meter, Sample
from energy.telemetry.boots import boot_number
from energy.telemetry.digest import samples_digest
from jobs.models import Allocation, Attempt, Job
from scheduler_service.factories import NOW, make_jobs, make_tenant
from tests.energy.ledger.attempts import make_priced_cluster
from tests.engines.agents.nodes import BOOT, Agent, join
from tests.examples import examples

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

GPUS, ATTEMPTS = 4, 5
# Of each GPU, of which a quarter comes twice.
SAMPLES = 200_000
STEP_MS = 400
Counts = NDArray[np.int64]


def _readings(chance: np.random.Generator, count: int) -> tuple[Counts, Counts]:
    """Counter in mJ per step, and which attempt (1 … ATTEMPTS, or 0) held the GPU before it."""
    power_mw = chance.integers(40_000, 400_000, count)
    energy_mj = np.cumsum(power_mw * STEP_MS) // 1000
    cuts = np.sort(chance.choice(np.arange(1, count - 1), 2 * ATTEMPTS, replace=False))
    holder = np.zeros(count, np.int64)
    for number, (start, end) in enumerate(cuts.reshape(-1, 2), 1):
        holder[start + 1 : end + 1] = number
    return energy_mj, holder


def _attempt(agent: Agent, gpu: Gpu, job: Job, number: int) -> Attempt:
    attempt = Attempt.objects.create(
        tenant=job.tenant, job=job, cluster=job.cluster, number=number, fence=job.pk * 10 + number,
        state="ended", gpus=1, offered_at=NOW, ended_at=NOW,
    )  # fmt: skip
    Allocation.objects.create(
        tenant=job.tenant, attempt=attempt, node=agent.node, gpu=gpu, cpus=1, memory_mib=1,
        held_at=NOW, released_at=NOW,
    )  # fmt: skip
    return attempt


_FILL = """
INSERT INTO energy_sampleinbox (node_id, gpu_id, boot_id, sequence, at, boot_ms, energy_mj,
    power_mw, attempt_id, integrated)
SELECT %(node)s, gpu, %(boot)s, sequence, %(now)s + boot_ms * interval '1 ms', boot_ms, energy_mj,
    1, nullif(attempt, 0), false
FROM readings
"""


def _fill(columns: dict[str, Counts], node_id: int, boot: int) -> None:
    names = ", ".join(columns)
    texts = (column.astype("U").tolist() for column in columns.values())
    lines = "\n".join(map(" ".join, zip(*texts, strict=True)))
    with connection.cursor() as cursor:
        typed = ", ".join(f"{name} bigint" for name in columns)
        cursor.execute(f"CREATE TEMP TABLE readings ({typed}) ON COMMIT DROP")
        with cursor.copy(f"COPY readings ({names}) FROM STDIN (DELIMITER ' ')") as copy:
            copy.write(lines)
        cursor.execute(_FILL, {"node": node_id, "boot": boot, "now": NOW})


def test_many_samples_shuffled_and_doubled() -> None:
    count = examples(SAMPLES)
    chance = np.random.default_rng(4)
    agent = join(make_priced_cluster(), "n1", gpus=GPUS)
    (job,) = make_jobs(agent.node.cluster, make_tenant(), 1, state="succeeded", ended_at=NOW)
    boot = boot_number(agent.node.pk, BOOT, now=NOW)
    assert boot is not None
    parts, expected, truth = [], {}, {}
    numbers = np.arange(count)
    for row, gpu in enumerate(Gpu.objects.order_by("index")):
        energy_mj, holder = _readings(chance, count)
        made = [_attempt(agent, gpu, job, row * 10 + n) for n in range(1, ATTEMPTS + 1)]
        names = np.array([0, *(attempt.pk for attempt in made)])
        parts.append(
            {
                "gpu": np.full(count, gpu.pk),
                "sequence": numbers,
                "boot_ms": STEP_MS * (numbers + 1),
                "energy_mj": energy_mj,
                "attempt": names[holder],
            }
        )
        for number, attempt in enumerate(made, 1):
            held = np.flatnonzero(holder == number)
            first, last = int(held[0]) - 1, int(held[-1])
            expected[attempt.pk] = int(energy_mj[last] - energy_mj[first])
            truth[attempt.pk] = (energy_mj, first, last)
            Meter.objects.create(
                tenant=job.tenant, attempt=attempt, gpu=gpu, boot_id=boot, final=True,
                start_mj=energy_mj[first], now_mj=energy_mj[last],
                since_at=NOW + timedelta(milliseconds=STEP_MS * (first + 1)),
                until_at=NOW + timedelta(milliseconds=STEP_MS * (last + 1)),
            )  # fmt: skip
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    again = chance.integers(0, GPUS * count, GPUS * count // 4)
    order = chance.permutation(np.concatenate([np.arange(GPUS * count), again]))

    _fill({name: column[order] for name, column in rows.items()}, agent.node.pk, boot)
    samples_digest(chunk=len(order) // 4)
    for attempt_id in expected:
        settle(attempt_id, now=NOW + timedelta(days=1))

    assert Sample.objects.count() == GPUS * count
    assert Node.objects.get().samples_refused == 0
    assert Boot.objects.count() == 1
    billed = dict(LedgerRow.objects.order_by().values_list("attempt").annotate(Sum("gpu_mj")))
    assert billed == expected
    assert _by_window() == _expected_by_window(truth)
    for each in node_balance(agent.node):
        assert each.billed_mj + each.open_mj + each.idle_mj + each.gap_mj == each.counter_mj
        assert (each.open_mj, each.gap_mj) == (0, 0)


def _by_window() -> dict[tuple[int, int], int]:
    rows = LedgerRow.objects.order_by().values_list("attempt", "starts_at")
    return {
        (attempt, (starts_at - NOW) // timedelta(hours=1)): gpu_mj
        for attempt, starts_at, gpu_mj in rows.annotate(Sum("gpu_mj"))
    }


def _expected_by_window(
    truth: dict[int, tuple[Counts, int, int]],
) -> dict[tuple[int, int], int]:
    """Steps end on full hours, so that each belongs to one."""
    found: dict[tuple[int, int], int] = {}
    per_hour = 3_600_000 // STEP_MS
    for attempt, (energy_mj, first, last) in truth.items():
        for hour in range(len(energy_mj) // per_hour + 1):
            low = max(first, hour * per_hour - 1)
            high = min(last, (hour + 1) * per_hour - 1)
            if low < high:
                found[attempt, hour] = int(energy_mj[high] - energy_mj[low])
    return found
