"""What a cluster draws is counted against its energy per period, and rounds see what is left."""

from datetime import timedelta
from decimal import Decimal
from math import inf, isinf

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster
from energy.budgets.energy import energy_count, energy_left
from energy.budgets.watch import DELAY
from energy.models import PowerState
from energy.telemetry.roll_up import roll_up
from policies.bench.power import budget_w
from scheduler_service.factories import NOW
from scheduling.snapshot.load import load_snapshot
from tariffs.models import Tariff
from tests.energy.budgets.conftest import MINUTE, World

pytestmark = pytest.mark.django_db

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Twelve hours ahead of UTC: a day begins at noon, which is NOW.
AHEAD = "Etc/GMT-12"


@pytest.fixture
def budgeted(world: World) -> World:
    """1000 Wh a day at a PUE of 1.5, and no bound of watts."""
    tariff = Tariff.objects.create(
        name="far-east", kind="flat", price_per_kwh=Decimal("0.3"), timezone=AHEAD
    )
    Cluster.objects.update(
        energy_budget_wh=1000, energy_period="day", pue=Decimal("1.5"), tariff=tariff
    )
    Cluster.objects.update(power_budget_w=None)
    world.cluster = Cluster.objects.get()
    return world


def _ten_minutes(world: World) -> PowerState:
    """Of 800 W by GPUs and 200 W by idle hosts."""
    world.draw(200, 200, 200, 200, seconds=600)
    roll_up(NOW, world.now)
    return world.watch()


def test_minutes_are_counted_when_they_have_settled(budgeted: World) -> None:
    state = _ten_minutes(budgeted)

    assert (state.energy_from_at, state.energy_counted_at) == (NOW, NOW + 5 * MINUTE)
    assert state.energy_drawn_j == pytest.approx(300 * 1000 * 1.5)
    assert state.budget_w is None

    again = budgeted.watch()
    assert again.energy_drawn_j == state.energy_drawn_j, "no minute is counted twice"


def test_rounds_see_what_is_left_and_until_when(budgeted: World) -> None:
    _ten_minutes(budgeted)

    snapshot = load_snapshot(budgeted.cluster, now=budgeted.now, seed=0)

    # 600 s of 1000 W at a PUE of 1.5 are 250 Wh: half of them counted, half estimated.
    assert snapshot.energy_left_j == pytest.approx(750 * 3600)
    assert snapshot.energy_until_s == (NOW + DAY).timestamp()
    assert isinf(snapshot.power_budget_w)
    assert budget_w(snapshot) == pytest.approx(750 * 3600 / (86_400 - 600) / 1.5)


def test_without_a_budget_energy_is_no_matter(world: World) -> None:
    with CaptureQueriesContext(connection) as free:
        snapshot = load_snapshot(world.cluster, now=NOW, seed=0)
    assert (snapshot.energy_left_j, snapshot.energy_until_s) == (inf, inf)
    Cluster.objects.update(energy_budget_wh=1000, energy_period="month")
    with CaptureQueriesContext(connection) as bound:
        load_snapshot(Cluster.objects.get(), now=NOW, seed=0)
    # The cluster itself, and its state.
    assert len(bound) == len(free) + 2


def test_a_new_day_begins_with_the_whole_budget_and_a_round(budgeted: World) -> None:
    _ten_minutes(budgeted)
    budgeted.now = NOW + DAY - MINUTE
    budgeted.watch()
    budgeted.nudged.clear()
    budgeted.now = NOW + DAY

    state = budgeted.watch()

    assert (state.energy_from_at, state.energy_drawn_j) == (NOW + DAY, 0)
    assert budgeted.nudged == [budgeted.cluster.pk]
    left = energy_left(budgeted.cluster, now=NOW + DAY)
    assert left is not None
    assert (left.left_wh, left.until_at) == (1000, NOW + 2 * DAY)


def test_what_is_not_counted_yet_is_estimated(budgeted: World) -> None:
    PowerState.objects.create(cluster=budgeted.cluster, measured_w=100, measured_at=NOW)

    left = energy_left(budgeted.cluster, now=NOW + 2 * HOUR)

    assert left is not None
    assert (left.counted_at, left.drawn_wh, left.left_wh) == (NOW, 300, 700)


def test_more_than_the_budget_leaves_less_than_nothing(budgeted: World) -> None:
    PowerState.objects.create(
        cluster=budgeted.cluster, energy_from_at=NOW, energy_counted_at=NOW, energy_drawn_j=3.7e6
    )

    snapshot = load_snapshot(budgeted.cluster, now=NOW, seed=0)

    assert snapshot.energy_left_j == pytest.approx(3.6e6 - 3.7e6)
    assert budget_w(snapshot) == 0


def test_a_late_budget_catches_up_an_hour_at_a_time(budgeted: World) -> None:
    state = PowerState(cluster=budgeted.cluster)
    now = NOW + 3 * HOUR

    assert energy_count(state, budgeted.cluster, now=now)
    assert state.energy_counted_at == NOW + HOUR
    assert not energy_count(state, budgeted.cluster, now=now)
    assert not energy_count(state, budgeted.cluster, now=now)
    assert state.energy_counted_at == now - 5 * MINUTE


def test_a_budget_that_is_taken_back_is_forgotten(budgeted: World) -> None:
    _ten_minutes(budgeted)
    Cluster.objects.update(energy_budget_wh=None, energy_period=None)
    budgeted.now += MINUTE + DELAY

    state = budgeted.watch()

    assert (state.energy_from_at, state.energy_drawn_j) == (None, 0)
