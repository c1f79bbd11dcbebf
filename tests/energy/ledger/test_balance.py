"""Billed, open, idle and gaps are the counter, exactly, whatever happened."""

import random
from datetime import timedelta

import pytest
from django.conf import LazySettings

from clusters.models import Node
from energy.ledger.balance import GpuBalance, node_balance, outside
from energy.ledger.settle import settle
from energy.models import GpuCounter, Sample, SampleMinute
from energy.telemetry.retention import forget_logs, forget_samples
from energy.telemetry.roll_up import samples_roll_up
from jobs.models import Log, LogChunk
from scheduler_service.factories import NOW
from tests.energy.ledger.attempts import Metered
from tests.energy.telemetry.readings import HELD_MW, IDLE_MW, deliver

pytestmark = pytest.mark.django_db


def _balance(metered: Metered) -> GpuBalance:
    uuid = metered.gpus[0].uuid
    return next(gpu for gpu in node_balance(Node.objects.get()) if gpu.uuid == uuid)


def _adds_up(balance: GpuBalance) -> bool:
    parts = (balance.billed_mj, balance.open_mj, balance.idle_mj, balance.gap_mj)
    return all(part >= 0 for part in parts) and sum(parts) == balance.counter_mj


def test_before_during_and_after_an_attempt() -> None:
    metered = Metered.place()
    metered.gpus[0].read()
    metered.idle(100)
    metered.deliver()
    assert _balance(metered).idle_mj == 100 * IDLE_MW

    metered.start()
    metered.run(60)
    metered.deliver()
    running = _balance(metered)
    assert (running.open_mj, running.billed_mj) == (60 * HELD_MW, 0)

    metered.end()
    metered.idle(20)
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    after = _balance(metered)
    assert (after.billed_mj, after.open_mj, after.idle_mj, after.gap_mj) == (
        60 * HELD_MW, 0, 120 * IDLE_MW, 0,
    )  # fmt: skip
    assert after.counter_mj == after.reading_mj == metered.gpus[0].energy_mj
    assert _adds_up(after)


def test_what_nobody_saw_is_a_gap_and_not_idle() -> None:
    metered = Metered.place()
    (gpu,) = metered.gpus
    gpu.read()
    metered.idle(10)
    gpu.boot_ms += 600_000
    gpu.energy_uj += 600_000 * IDLE_MW
    metered.idle(10)
    metered.deliver()

    balance = _balance(metered)
    assert (balance.idle_mj, balance.gap_mj) == (19 * IDLE_MW, 601 * IDLE_MW)
    assert _adds_up(balance)


def test_a_gap_ends_where_an_attempt_begins() -> None:
    """Samples were lost around the start, but the node read the counter as it gave the GPU away."""
    metered = Metered.place()
    (gpu,) = metered.gpus
    gpu.read()
    gpu.boot_ms += 300_000
    gpu.energy_uj += 300_000 * IDLE_MW
    metered.start()
    gpu.boot_ms += 300_000
    gpu.energy_uj += 300_000 * HELD_MW
    metered.run(5)
    metered.end()
    metered.deliver()

    balance = _balance(metered)
    assert (balance.open_mj, balance.gap_mj, balance.idle_mj) == (
        305 * HELD_MW, 300 * IDLE_MW, 0,
    )  # fmt: skip
    assert _adds_up(balance)


def test_forgetting_samples_changes_no_balance(settings: LazySettings) -> None:
    settings.SAMPLES_KEEP_S = 600
    metered = Metered.place()
    (gpu,) = metered.gpus
    gpu.read()
    for pause_s in (120, 0, 300, 90):
        metered.idle(200)
        gpu.boot_ms += pause_s * 1000
        gpu.energy_uj += pause_s * 1000 * IDLE_MW
    metered.idle(200)
    metered.deliver()
    before, samples = _balance(metered), Sample.objects.count()

    for minutes in range(0, 40, 3):
        forget_samples(now=NOW + timedelta(minutes=minutes))
        assert _balance(metered) == before
    assert Sample.objects.count() < samples / 2
    assert GpuCounter.objects.get(gap_mj__gt=0).kept_from > 0


@pytest.mark.slow
def test_any_story_adds_up() -> None:
    chance = random.Random(11)
    metered = Metered.place()
    metered.gpus[0].read()
    for _ in range(12):
        metered.idle(chance.randrange(1, 90))
        metered.start()
        metered.run(chance.randrange(1, 200), chance.randrange(60_000, 400_000))
        metered.end()
        metered.idle(chance.randrange(1, 20))
        kept = [each for each in metered.gpus[0].samples if chance.random() < 0.2]
        chance.shuffle(kept)
        deliver(metered.agent.node, kept or metered.gpus[0].samples[:1], batch=7)
        metered.gpus[0].samples.clear()
        if chance.random() < 0.5:
            settle(metered.attempt.pk, now=metered.now)
        assert _adds_up(_balance(metered)), _balance(metered)
        metered = metered.again()


def test_minutes_are_rolled_up_and_outlive_their_samples(settings: LazySettings) -> None:
    metered = Metered.place()
    metered.idle(59)
    metered.run(60)
    metered.deliver()
    settings.SAMPLES_KEEP_S = 60
    samples_roll_up(now=NOW + timedelta(minutes=2))

    first, second = SampleMinute.objects.order_by("minute_at")
    assert (first.samples, first.mean_mw, first.last_mj) == (59, IDLE_MW, 59 * IDLE_MW)
    assert (second.samples, second.max_mw) == (60, HELD_MW)
    forget_samples(now=NOW + timedelta(hours=2))
    samples_roll_up(now=NOW + timedelta(minutes=2))
    assert SampleMinute.objects.count() == 2
    assert SampleMinute.objects.order_by("minute_at")[0].samples == 59
    forget_samples(now=NOW + timedelta(days=91))
    assert not SampleMinute.objects.exists()


def test_late_samples_complete_their_minute() -> None:
    metered = Metered.place()
    metered.idle(59)
    samples = metered.gpus[0].samples
    deliver(metered.agent.node, samples[30:])
    samples_roll_up(now=NOW + timedelta(minutes=1))
    assert SampleMinute.objects.get().samples == 29
    deliver(metered.agent.node, samples[:30])
    samples_roll_up(now=NOW + timedelta(minutes=2))
    assert SampleMinute.objects.get().samples == 59


def test_old_logs_are_forgotten() -> None:
    metered = Metered.place()
    names = {"tenant": metered.job.tenant, "node": metered.agent.node}
    log = Log.objects.create(attempt=metered.attempt, stream="stdout", updated_at=NOW, **names)
    LogChunk.objects.create(tenant=metered.job.tenant, log=log, offset=0, data=b"x")
    forget_logs(now=NOW + timedelta(days=13))
    assert LogChunk.objects.exists()
    forget_logs(now=NOW + timedelta(days=15))
    assert not Log.objects.exists()


@pytest.mark.parametrize(
    ("stretch", "held", "left"),
    [
        ((0, 10), [], 10),
        ((0, 10), [(2, 4), (6, 9)], 5),
        ((0, 10), [(0, 10)], 0),
        ((5, 10), [(0, 7), (9, 20)], 2),
        ((5, 10), [(0, 5), (10, 20)], 5),
    ],
)
def test_outside(stretch: tuple[int, int], held: list[tuple[int, int]], left: int) -> None:
    assert outside(stretch, held) == left
