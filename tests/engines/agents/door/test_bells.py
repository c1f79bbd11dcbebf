"""An agent's bell: opened once, rung when something changes, and never needed."""

import asyncio

import pytest
from django.db import connection
from django.utils import timezone

from agent.wire import BELL_PATH
from clusters.models import Cluster
from engines.agents.door import bells
from rest import notices
from scheduler_service.door import Door
from scheduler_service.factories import make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tests.asgi import PATIENCE_S, Client
from tests.engines.agents.door.conftest import DoorAgent, in_thread, join, with_door

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def place(cluster: Cluster, gpus: int = 1) -> None:
    make_jobs(cluster, make_tenant(), 1, min_gpus=gpus, max_gpus=gpus)
    run_round(cluster.pk, now=timezone.now())


def end_listeners() -> None:
    """As a failover would: only connections that listen are ended."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'"
        )


def test_a_placement_rings_and_the_sync_that_follows_brings_it(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        assert (await agent.sync()).json()["attempts"] == []
        async with agent.bell() as bell:
            assert await bell.next() == bells.ALIVE
            await in_thread(place, cluster)
            await bell.until(bells.RING)
            assert len((await agent.sync()).json()["attempts"]) == 1

    with_door(act)


def test_only_the_nodes_of_a_placement_are_rung(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agents = [await in_thread(join, door, cluster, f"n{number}") for number in range(3)]
        async with agents[0].bell() as one, agents[1].bell() as two, agents[2].bell() as three:
            for bell in (one, two, three):
                await bell.until(b"\n")
            while any(not bell.pieces.empty() for bell in (one, two, three)):
                await asyncio.sleep(0)
            await in_thread(place, cluster, 4)
            rung = await _rung(door, one, two, three)
            assert sum(rung) == 1

    with_door(act)


async def _rung(door: Door, *opened: object) -> list[bool]:
    """Once the placement's ring has come: rings are heard in order, so no other is under way."""
    async with asyncio.timeout(PATIENCE_S):
        while all(bell.pieces.empty() for bell in opened):  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
    return [bells.RING in bell.content for bell in opened]  # type: ignore[attr-defined]


def test_without_a_ring_the_usual_sync_brings_the_same(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        door.agents.bells.ring = lambda node_id: None  # type: ignore[method-assign]
        await in_thread(place, cluster)
        assert len((await agent.sync()).json()["attempts"]) == 1

    with_door(act)


def test_after_a_pause_in_listening_every_bell_rings(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "RETRY_FIRST_S", 0.0)

    async def act(door: Door) -> None:
        agents = [await in_thread(join, door, cluster, f"n{number}") for number in range(2)]
        async with agents[0].bell() as one, agents[1].bell() as two:
            for bell in (one, two):
                await bell.until(b"\n")
            one.content, two.content  # noqa: B018 - what came until now
            await in_thread(end_listeners)
            await one.until(bells.RING)
            await two.until(bells.RING)

    with_door(act)


def test_of_two_bells_of_a_node_the_newer_stays(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        async with agent.bell() as first:
            await first.until(b"\n")
            async with agent.bell() as second:
                await second.until(b"\n")
                async with asyncio.timeout(PATIENCE_S):
                    await first.ended.wait()
                assert len(door.agents.bells) == 1
                door.agents.bells.ring(str(agent.node_id))
                await second.until(bells.RING)
        assert len(door.agents.bells) == 0

    with_door(act)


def test_a_bell_breathes_and_ends_by_itself(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that the network has swallowed neither reads nor leaves."""
    monkeypatch.setattr(bells, "ALIVE_S", 0.01)
    monkeypatch.setattr(bells, "LONGEST_S", 0.1)

    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        answer = await agent.client.send("GET", BELL_PATH)
        assert answer.status == 200
        assert answer.content.count(bells.ALIVE) > 2
        assert len(door.agents.bells) == 0

    with_door(act)


def test_strangers_and_tenants_have_no_bell(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        for token in (None, "nonsense", "fw_n_" + "x" * 40):
            answer = await Client(door, token).send("GET", BELL_PATH)
            assert (answer.status, answer.json()["code"]) == (401, "unauthenticated")
        agent: DoorAgent = await in_thread(join, door, cluster, "n1")
        assert (await agent.client.send("POST", BELL_PATH)).status == 405

    with_door(act)
