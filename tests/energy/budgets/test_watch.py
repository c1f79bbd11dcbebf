"""A minute above the budget is recorded, and what the model is wrong by is fed back to rounds."""

from datetime import timedelta

import pytest

from clusters.models import Cluster, Node, Partition
from energy.budgets.power import planned_budgets
from energy.budgets.watch import DELAY
from energy.measured import measure
from energy.models import PowerBreach, PowerBudget, PowerState
from scheduler_service.factories import NOW
from scheduling.snapshot.load import load_snapshot
from tests.energy.budgets.conftest import MINUTE, World

pytestmark = pytest.mark.django_db


def test_watts_are_counted_and_hosts_added(world: World) -> None:
    world.draw(400, 100, 60, 40)

    found = measure(world.cluster.pk, from_at=NOW, until_at=world.now)

    assert found[None].watts == pytest.approx(600 + 200)
    assert found[None].unread_gpus == 0


def test_a_node_that_is_off_has_no_host_and_a_silent_gpu_is_unread(world: World) -> None:
    world.draw(400, 100, 0, 0)
    Node.objects.filter(name="n2").update(state="off")
    from_at = world.now + MINUTE

    assert measure(world.cluster.pk, from_at=NOW, until_at=world.now)[None].watts == 600
    silent = measure(world.cluster.pk, from_at=from_at, until_at=from_at + MINUTE)[None]
    assert (silent.watts, silent.unread_gpus) == (100, 2)


def test_within_the_budget_nothing_happens(world: World) -> None:
    world.draw(200, 200, 200, 200)

    state = world.watch()

    assert (state.measured_w, state.budget_w, state.correction_w) == (1000, 1000, 0)
    assert not PowerBreach.objects.exists()


def test_above_it_rounds_plan_with_less_until_there_is_room(world: World) -> None:
    world.draw(230, 230, 230, 230)
    world.nudged.clear()

    state = world.watch()

    assert (state.measured_w, state.correction_w) == (1120, 120)
    assert world.nudged
    assert Cluster.objects.get().next_round_at <= world.now + DELAY
    assert load_snapshot(world.cluster, now=world.now, seed=0).power_budget_w == 880
    breach = PowerBreach.objects.get()
    assert (breach.budget_w, breach.worst_w, breach.ended_at) == (1000, 1120, None)
    assert breach.began_at == NOW

    world.draw(230, 230, 230, 240, seconds=10)
    assert world.watch().correction_w == 120, "the same excess is not counted twice"

    world.draw(195, 195, 195, 195, seconds=70)
    assert world.watch().correction_w == pytest.approx(108)
    breach.refresh_from_db()
    assert breach.ended_at == world.now
    assert breach.worst_w > 1120


def test_a_correction_is_not_taken_back_beyond_the_room_there_is(world: World) -> None:
    PowerState.objects.create(cluster=world.cluster, correction_w=100)
    world.draw(199, 200, 200, 200)

    assert world.watch().correction_w == pytest.approx(99)


def test_a_budget_that_just_began_is_not_broken_yet(world: World) -> None:
    starts_at = NOW + timedelta(seconds=30)
    PowerBudget.objects.create(cluster=world.cluster, watts=500, starts_at=starts_at)
    world.draw(200, 200, 200, 200)
    assert (world.watch().budget_w, PowerBreach.objects.count()) == (500, 0)

    world.draw(200, 200, 200, 200, seconds=30)

    assert (world.watch().correction_w, PowerBreach.objects.get().budget_w) == (250, 500)


def test_rounds_are_called_when_the_budget_changes(world: World) -> None:
    world.draw(100, 100, 100, 100)
    world.watch()
    world.nudged.clear()
    world.watch()
    assert world.nudged == []

    PowerBudget.objects.create(cluster=world.cluster, watts=900, starts_at=world.now + MINUTE)
    world.watch()
    assert world.nudged == []
    world.now += timedelta(seconds=50)
    state = world.watch()

    assert world.nudged == [world.cluster.pk]
    assert (state.budget_w, state.planned_w) == (1000, 900)


def test_partitions_are_held_to_their_own(world: World) -> None:
    prod = Partition.objects.create(cluster=world.cluster, name="prod")
    Node.objects.filter(name="n1").update(partition=prod)
    PowerBudget.objects.create(
        cluster=world.cluster, partition=prod, watts=400, starts_at=NOW - MINUTE
    )
    world.draw(200, 200, 60, 60)

    assert world.watch().correction_w == 0

    state = PowerState.objects.get(partition=prod)
    assert (state.measured_w, state.correction_w) == (500, 100)
    assert PowerBreach.objects.get().partition == prod
    assert planned_budgets(world.cluster, now=world.now).of(prod.pk) == 300
