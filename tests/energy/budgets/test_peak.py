"""The month's highest quarter of an hour is counted from telemetry, and rounds see its price."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster
from energy.budgets.peak import demand_count
from energy.budgets.watch import power_watch
from energy.models import PowerState
from energy.telemetry.roll_up import roll_up
from scheduler_service.factories import NOW
from scheduling.snapshot.load import load_snapshot
from tariffs.models import Tariff
from tests.energy.budgets.conftest import MINUTE, World

pytestmark = pytest.mark.django_db

QUARTER, HOUR = 15 * MINUTE, timedelta(hours=1)
# Twelve hours ahead of UTC: a month begins at noon of the last day before it.
AHEAD = "Etc/GMT-12"


def charge(world: World, **values: Any) -> Tariff:
    """10 a kW of the month's peak at a PUE of 1.5, and no budget."""
    plain = {"kind": "flat", "price_per_kwh": Decimal("0.3"), "demand_charge_per_kw": Decimal(10)}
    tariff = Tariff.objects.create(name="demanding", **{**plain, **values})
    Cluster.objects.update(tariff=tariff, pue=Decimal("1.5"), power_budget_w=None)
    world.cluster = Cluster.objects.select_related("tariff").get()
    return tariff


def day_and_night(day: int, night: int) -> dict[str, Any]:
    """Day is from 8 to 20 o'clock."""
    hours = ((0, 8, night, "night"), (8, 20, day, ""), (20, 24, night, "night"))
    periods = [
        {
            "name": name, "months": [*range(1, 13)], "weekdays": [*range(7)],
            "from_minute": 60 * begin, "to_minute": 60 * end,
            "price_per_kwh": "0.1", "demand_charge_per_kw": str(per_kw),
        }
        for begin, end, per_kw, name in hours
    ]  # fmt: skip
    return {"kind": "time_of_use", "price_per_kwh": None, "periods": periods}


def counted(world: World) -> PowerState:
    """As if the month had been looked at until NOW, and nothing been drawn."""
    state = PowerState(cluster=world.cluster)
    demand_count(state, world.cluster, now=NOW)
    state.demand_counted_at = NOW
    state.save()
    return state


def draw(world: World, *watts: int, minutes: int) -> None:
    """Beside 200 W of idle hosts."""
    since = world.now
    world.draw(*watts, seconds=60 * minutes)
    roll_up(since, world.now)


def seen(world: World) -> tuple[float, float]:
    snapshot = load_snapshot(world.cluster, now=world.now, seed=0)
    return snapshot.peak_w, snapshot.demand_price_per_w


def test_a_quarter_counts_when_it_has_settled(world: World) -> None:
    charge(world)
    counted(world)
    draw(world, 200, 200, 200, 200, minutes=5)
    draw(world, 500, 500, 500, 500, minutes=10)
    world.watch()
    assert seen(world) == (0.0, 0.01)

    draw(world, 100, 100, 100, 100, minutes=6)
    state = world.watch()

    assert state.demand_counted_at == NOW + QUARTER
    mean_w = (5 * 1000 + 10 * 2200) / 15
    assert seen(world) == pytest.approx((1.5 * mean_w, 0.01), rel=0.01)


def test_a_lower_quarter_changes_nothing(world: World) -> None:
    charge(world)
    state = counted(world)
    state.demand_peaks_w = [5000.0]
    state.save()
    draw(world, 200, 200, 200, 200, minutes=21)
    world.watch()
    assert seen(world) == (5000.0, 0.01)


def test_charges_of_a_period_count_its_own_peak(world: World) -> None:
    """NOW is noon, so by day."""
    charge(world, demand_charge_per_kw=Decimal(0), **day_and_night(day=20, night=5))
    counted(world)
    draw(world, 200, 200, 200, 200, minutes=21)
    state = world.watch()
    month_w, early_w, day_w, late_w = state.demand_peaks_w
    assert (early_w, late_w) == (0, 0)
    assert month_w == day_w == pytest.approx(1500, rel=0.01)
    assert seen(world) == pytest.approx((1500, 0.02), rel=0.01)
    world.now = NOW + timedelta(hours=8)
    PowerState.objects.update(demand_counted_at=world.now)
    assert seen(world) == (0.0, 0.005)


def test_a_month_that_is_not_counted_yet_charges_nothing(world: World) -> None:
    """Nobody waits for what is not known; an hour of it is counted at a look."""
    charge(world)
    state = PowerState(cluster=world.cluster)
    demand_count(state, world.cluster, now=NOW)
    began_at = datetime(NOW.year, NOW.month, 1, tzinfo=UTC)
    assert state.demand_counted_at == began_at + HOUR
    state.save()
    assert seen(world) == (0.0, 0.0)
    PowerState.objects.update(demand_counted_at=NOW - HOUR)
    assert seen(world) == (0.0, 0.01)


def test_another_month_and_other_terms_begin_from_nothing(world: World) -> None:
    tariff = charge(world, timezone=AHEAD, **day_and_night(day=1, night=1))
    state = counted(world)
    month = state.demand_month
    state.demand_peaks_w = [9.0, 9.0, 9.0, 9.0]
    later = (NOW + timedelta(days=31)).replace(day=1, hour=0, minute=0) - 12 * HOUR
    demand_count(state, world.cluster, now=later - MINUTE)
    assert (state.demand_month, state.demand_peaks_w) == (month, [9.0] * 4)
    demand_count(state, world.cluster, now=later)
    assert state.demand_month != month
    assert (state.demand_counted_at, state.demand_peaks_w) == (later, [0.0] * 4)

    state.demand_peaks_w = [9.0] * 4
    tariff.version += 1
    world.cluster.tariff = tariff
    demand_count(state, world.cluster, now=later)
    assert state.demand_peaks_w == [0.0] * 4
    world.cluster.tariff = None
    demand_count(state, world.cluster, now=later)
    assert (state.demand_month, state.demand_counted_at, state.demand_peaks_w) == ("", None, [])


def test_a_charge_takes_one_query_of_a_round(world: World) -> None:
    tariff = charge(world, demand_charge_per_kw=Decimal(0))
    with CaptureQueriesContext(connection) as free:
        assert seen(world) == (0.0, 0.0)
    tariff.demand_charge_per_kw = Decimal(10)
    tariff.save()
    world.cluster = Cluster.objects.select_related("tariff").get()
    with CaptureQueriesContext(connection) as charged:
        seen(world)
    assert len(charged) == len(free) + 1


@pytest.mark.parametrize(
    ("values", "watched"),
    [
        ({}, True),
        ({"demand_charge_per_kw": Decimal(0)}, False),
        ({"demand_charge_per_kw": Decimal(0), **day_and_night(day=0, night=0)}, False),
        ({"demand_charge_per_kw": Decimal(0), **day_and_night(day=0, night=3)}, True),
    ],
)
def test_who_charges_is_watched_without_a_budget(
    world: World, values: dict[str, Any], watched: bool
) -> None:
    charge(world, **values)
    power_watch(now=NOW)
    assert PowerState.objects.exists() == watched
