"""The ledger of an attempt is its counters' difference, to the millijoule, in the right windows."""

from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.db import Error, connection, transaction
from django.db.models import Sum

from agent.wire import AttemptEnergy
from clusters.models import Node
from energy.ledger.money import MJ_PER_KWH, to_money
from energy.ledger.settle import settle, settle_due
from energy.models import LedgerRow, Meter
from engines.agents.loss import watch_nodes
from jobs.models import Attempt
from scheduler_service.factories import NOW, make_jobs, make_tenant
from scheduling.round import run_round
from tariffs.models import CarbonHour, CarbonSeries, Tariff, TariffHour
from tests.energy.ledger.attempts import PRICE, Metered, later, make_priced_cluster
from tests.energy.telemetry.readings import HELD_MW, deliver
from tests.engines.agents.nodes import join

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def _gpu_mj() -> int:
    return LedgerRow.objects.aggregate(sum=Sum("gpu_mj"))["sum"] or 0


def _by_window() -> dict[datetime, int]:
    rows = LedgerRow.objects.order_by("starts_at").values_list("starts_at")
    return dict(rows.annotate(Sum("gpu_mj")))


def _ended(seconds: int = 600, **fields: Any) -> Metered:
    metered = Metered.place(**fields)
    metered.idle(30)
    metered.start()
    metered.run(seconds)
    metered.end()
    metered.deliver()
    return metered


def test_what_was_counted_is_owed() -> None:
    metered = _ended()
    settle_due(now=later(metered, seconds=11))

    row = LedgerRow.objects.get()
    assert row.gpu_mj == metered.drawn_mj() == 600 * HELD_MW
    assert (row.starts_at, row.ends_at) == (NOW, NOW + HOUR)
    assert (row.method, row.coverage, row.currency) == ("counter", 1.0, "EUR")
    exact = Fraction(row.gpu_mj + row.host_mj) * Fraction(PRICE) * Fraction(3, 2) / MJ_PER_KWH
    assert row.cost == to_money(exact)
    assert Meter.objects.get().final


def test_nothing_is_settled_before_the_last_samples_are_in() -> None:
    metered = _ended()
    assert settle_due(now=later(metered, seconds=9)) == 0
    assert settle_due(now=later(metered, seconds=11)) == 1


def test_settling_twice_adds_nothing() -> None:
    metered = _ended()
    settle(metered.attempt.pk, now=metered.now)
    assert settle(metered.attempt.pk, now=later(metered, hours=1)) == 0
    assert settle(metered.attempt.pk, now=later(metered, days=1)) == 0


@pytest.mark.parametrize("ran_s", [0.0, 3.0])
def test_an_end_before_a_beginning_that_was_told_late_is_owed_all_the_same(ran_s: float) -> None:
    cluster = make_priced_cluster()
    agent = join(cluster, "late", gpus=1)
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    (uuid,) = wanted.gpu_uuids
    agent.running(wanted, energy=(AttemptEnergy(uuid, 1_000, 1_000),))
    agent.sync(now=NOW + timedelta(seconds=5))
    energy = (AttemptEnergy(uuid, 1_000, 5_000),)
    agent.ended(wanted, energy=energy, ran_s=ran_s, ended_age_s=2.0)
    agent.sync(now=NOW + timedelta(seconds=6))
    settle_due(now=NOW + timedelta(seconds=20))
    assert _gpu_mj() == 4_000


def test_no_sample_is_needed_for_the_sum() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(600)
    metered.end()
    settle(metered.attempt.pk, now=metered.now)

    row = LedgerRow.objects.get()
    assert row.gpu_mj == 600 * HELD_MW
    assert row.coverage == 0.0


def test_hours_get_what_was_drawn_in_them() -> None:
    """Half an hour at 300 W, then the rest at 100 W: the windows differ, the sum is the counter."""
    metered = Metered.place()
    metered.start()
    metered.run(3600, every_ms=5000)
    metered.run(1800, 100_000, every_ms=5000)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)

    assert _by_window() == {NOW: 3600 * HELD_MW, NOW + HOUR: 1800 * 100_000}


def test_windows_end_where_the_price_changes() -> None:
    cluster = make_priced_cluster()
    half_past = {"months": list(range(1, 13)), "weekdays": list(range(7)), "name": ""}
    cheap = {**half_past, "from_minute": 0, "to_minute": 750, "price_per_kwh": "0.1"}
    dear = {**half_past, "from_minute": 750, "to_minute": 1440, "price_per_kwh": "0.5"}
    Tariff.objects.update(kind="time_of_use", price_per_kwh=None, periods=[cheap, dear])
    metered = Metered.place(cluster)
    metered.start()
    metered.run(3600, every_ms=5000)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)

    rows = LedgerRow.objects.order_by("starts_at")
    assert [(row.price_per_kwh, row.gpu_mj) for row in rows] == [
        (Decimal("0.1"), 1800 * HELD_MW),
        (Decimal("0.5"), 1800 * HELD_MW),
    ]
    assert rows[1].starts_at == NOW + timedelta(minutes=30)


def test_a_running_attempt_is_settled_hour_by_hour() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(3700, every_ms=5000)
    metered.deliver()
    assert settle_due(now=NOW + HOUR) == 0
    settle_due(now=NOW + HOUR + timedelta(minutes=3))
    assert _by_window() == {NOW: 3600 * HELD_MW}

    metered.run(3600, every_ms=5000)
    metered.end()
    metered.deliver()
    settle_due(now=later(metered, seconds=11))
    assert _gpu_mj() == metered.drawn_mj() == 7300 * HELD_MW
    assert len(_by_window()) == 3


def test_an_hour_without_readings_waits_for_them() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(600, every_ms=5000)
    metered.deliver()
    settle_due(now=NOW + HOUR + timedelta(minutes=3))
    assert not LedgerRow.objects.exists()


def test_samples_that_come_late_move_energy_and_leave_the_sum() -> None:
    """At first only the ends are known: even over time. Then the truth: all in the first hour."""
    metered = Metered.place()
    metered.start()
    metered.run(3600, every_ms=5000)
    metered.run(3600, 0, every_ms=5000)
    metered.end()
    settle(metered.attempt.pk, now=metered.now)
    assert _by_window() == {NOW: 1800 * HELD_MW, NOW + HOUR: 1800 * HELD_MW}

    metered.deliver()
    settle(metered.attempt.pk, now=later(metered, hours=1))
    assert _by_window() == {NOW: 3600 * HELD_MW, NOW + HOUR: 0}
    assert LedgerRow.objects.count() == 4


def test_windows_of_forgotten_samples_stand() -> None:
    """A day later the first hours' samples are gone; only the rest is spread anew."""
    metered = Metered.place()
    metered.start()
    for power_mw in (300_000, 100_000, 200_000, 300_000, 100_000):
        metered.run(3600, power_mw, every_ms=30_000)
        metered.deliver()
        settle_due(now=later(metered, minutes=3))
    settled = _by_window()
    meter = Meter.objects.get()
    assert meter.settled_at == NOW + 2 * HOUR
    assert meter.settled_mj == 3600 * 400_000

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM energy_sample WHERE at < %s", [NOW + 2 * HOUR])
    metered.end()
    settle(metered.attempt.pk, now=later(metered, minutes=5))
    assert {**_by_window(), NOW + 5 * HOUR: 0} == {**settled, NOW + 5 * HOUR: 0}
    assert _gpu_mj() == metered.drawn_mj()


def test_the_host_is_shared_by_its_gpus() -> None:
    cluster = make_priced_cluster()
    metered = Metered.place(cluster, gpus=2)
    Node.objects.update(host_peak_w=801)
    metered.start()
    metered.run(600)
    metered.end()
    settle(metered.attempt.pk, now=metered.now)

    rows = list(LedgerRow.objects.values_list("host_mj", flat=True))
    assert rows == [801 * 600 * 1000 // 2] * 2


def test_an_unknown_price_is_owed_later() -> None:
    cluster = make_priced_cluster()
    Tariff.objects.update(kind="hourly", price_per_kwh=None)
    metered = _ended(cluster=cluster)
    settle(metered.attempt.pk, now=metered.now)
    row = LedgerRow.objects.get()
    assert (row.price_per_kwh, row.cost) == (None, Decimal(0))

    TariffHour.objects.create(
        tariff=Tariff.objects.get(), starts_at=NOW, price_per_kwh=Decimal("0.2")
    )
    settle(metered.attempt.pk, now=later(metered, hours=1))
    taken_back, anew = LedgerRow.objects.exclude(pk=row.pk).order_by("price_per_kwh")[::-1]
    assert (taken_back.gpu_mj, taken_back.cost) == (-row.gpu_mj, Decimal(0))
    assert (anew.gpu_mj, anew.price_per_kwh) == (row.gpu_mj, Decimal("0.2"))
    assert anew.cost > 0


def test_carbon_is_counted_beside_money() -> None:
    series = CarbonSeries.objects.create(name="de")
    CarbonHour.objects.create(series=series, starts_at=NOW, g_per_kwh=Decimal(380))
    metered = _ended(cluster=make_priced_cluster(carbon_series=series))
    settle(metered.attempt.pk, now=metered.now)

    row = LedgerRow.objects.get()
    energy = Fraction(row.gpu_mj + row.host_mj)
    assert row.carbon_g == to_money(energy * 380 * Fraction(3, 2) / MJ_PER_KWH)


def test_a_lost_attempt_owes_what_was_seen_of_it() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(60)
    metered.deliver()
    for second in range(0, 1100, 5):
        watch_nodes(now=later(metered, seconds=second))
    assert metered.attempt.state == "lost"
    settle(metered.attempt.pk, now=later(metered, hours=1))
    assert _gpu_mj() == 60 * HELD_MW


def test_a_lost_attempt_that_reports_its_end_owes_all() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(60)
    metered.deliver()
    Attempt.objects.update(state="lost", ended_at=metered.now)
    metered.run(40)
    metered.end()
    settle(metered.attempt.pk, now=metered.now)
    assert _gpu_mj() == 100 * HELD_MW


def test_after_a_reboot_the_other_counter_is_not_its_own() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(60)
    metered.deliver()
    (gpu,) = metered.gpus
    gpu.energy_uj = 10**15
    metered.reboot()
    settle(metered.attempt.pk, now=metered.now)
    assert _gpu_mj() == 60 * HELD_MW


@pytest.mark.parametrize("joules", [10**9, 2**52])
def test_an_end_that_cannot_be_true_is_refused(joules: int) -> None:
    metered = Metered.place()
    metered.start()
    metered.run(60)
    metered.deliver()
    (gpu,) = metered.gpus
    gpu.energy_uj += joules * 10**6
    metered.end()

    assert Meter.objects.get().now_mj == 60 * HELD_MW
    assert Node.objects.get().samples_refused == 1
    assert metered.job.state == "succeeded"


def test_two_attempts_cannot_own_one_stretch() -> None:
    """The second claims to have begun before the first was over."""
    first = _ended(seconds=60)
    second = first.again()
    (gpu,) = second.gpus
    gpu.energy_uj -= 5000
    second.start()
    gpu.energy_uj += 5000
    second.run(10)
    second.end()

    assert Meter.objects.get().attempt_id == first.wanted.attempt_id
    assert Node.objects.get().samples_refused == 2


def test_rows_are_never_changed() -> None:
    metered = _ended()
    settle(metered.attempt.pk, now=metered.now)
    with pytest.raises(Error), transaction.atomic():
        LedgerRow.objects.update(gpu_mj=0)
    with pytest.raises(Error), transaction.atomic():
        LedgerRow.objects.all().delete()
    assert _gpu_mj() == metered.drawn_mj()


def test_samples_in_any_order_settle_to_the_same() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(1800, every_ms=5000)
    metered.run(3600, 120_000, every_ms=5000)
    metered.end()
    samples = metered.gpus[0].samples
    half = len(samples) // 2
    deliver(metered.agent.node, [*samples[half:], *samples[:half], *samples[::-1]], batch=97)
    settle(metered.attempt.pk, now=metered.now)

    assert _by_window() == {
        NOW: 1800 * HELD_MW + 1800 * 120_000,
        NOW + HOUR: 1800 * 120_000,
    }
