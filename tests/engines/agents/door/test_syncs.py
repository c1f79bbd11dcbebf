"""Syncs at the door: together, in few statements, and with the very answers of the API."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.utils import timezone

from agent.wire import SYNC_PATH, AttemptReport, End, GpuStatus, Power, Sync, encode
from agent.wire import State as ReportState
from clusters.models import Cluster, Gpu, Node
from clusters.node_states import State, advance
from engines.agents.door.heard import Hearing
from engines.agents.door.threads import for_agents
from engines.agents.sync import node_sync
from jobs.models import Allocation, Attempt, Job, Part
from scheduler_service.door import Door
from scheduler_service.factories import make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.async_pool import parameters
from tenancy.models import ApiToken
from tests.asgi import Client
from tests.engines.agents.door.conftest import DoorAgent, in_thread, join, with_door
from tests.engines.agents.nodes import BOOT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def on_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What had to be done on a thread, by name."""
    done: list[str] = []

    def noting(act: Any, *args: Any, **kwargs: Any) -> Any:
        done.append(act.__name__)
        return for_agents(act, *args, **kwargs)

    monkeypatch.setattr("engines.agents.door.syncs.for_agents", noting)
    return done


def place(cluster: Cluster, jobs: int = 1) -> None:
    make_jobs(cluster, make_tenant(), jobs)
    run_round(cluster.pk, now=timezone.now())


async def at_work(agent: DoorAgent, **fields: Any) -> AttemptReport:
    """Takes what is placed on its node and says that it runs."""
    (attempt,) = (await agent.sync()).json()["attempts"]
    report = AttemptReport(attempt["attempt_id"], attempt["fence"], ReportState.RUNNING, **fields)
    assert (await agent.sync(report)).status == 200
    return report


def test_a_quiet_sync_is_answered_without_a_thread_as_the_api_answers_it(
    cluster: Cluster, on_threads: list[str]
) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await in_thread(place, cluster)
        report = await at_work(agent)
        on_threads.clear()
        quiet = (await agent.sync(report)).json()
        assert on_threads == []
        token = await in_thread(Node.objects.values_list("token_id", flat=True).get)
        message = Sync(agent.epoch, agent.sequence + 1, BOOT, attempts=(report,))
        plain = await in_thread(node_sync, token, message, now=timezone.now())
        assert quiet == _plain(plain)

    with_door(act)


def _plain(message: Any) -> Any:
    return json.loads(encode(message))


def test_many_syncs_at_once_are_few_statements(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    hear = Hearing.hear

    async def counting(self: Any, said: Any) -> Any:
        sizes.append(len(said))
        return await hear(self, said)

    monkeypatch.setattr(Hearing, "hear", counting)

    async def act(door: Door) -> None:
        agents = [await in_thread(join, door, cluster, f"n{number}") for number in range(40)]
        answers = await asyncio.gather(*(agent.sync() for agent in agents))
        assert {answer.status for answer in answers} == {200}
        assert sum(sizes) == 40
        assert len(sizes) <= 3

    with_door(act)


def test_progress_is_written_behind_the_answers(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await in_thread(place, cluster)
        report = await at_work(agent)
        further = AttemptReport(
            report.attempt_id, report.fence, ReportState.RUNNING, progress_step=7,
            checkpoint_step=5, checkpoint_age_s=1.0,
        )  # fmt: skip
        await agent.sync(further)
        await door.agents._notes.write()
        part = await in_thread(Part.objects.get)
        assert (part.progress_step, part.checkpoint_step) == (7, 5)
        job = await in_thread(Job.objects.get)
        assert job.work_done == 7
        assert job.checkpoint_at is not None
        # An older report changes nothing, and one under another fence is not ours.
        await agent.sync(report)
        await door.agents._notes.write()
        assert (await in_thread(Job.objects.get)).work_done == 7

    with_door(act)


def test_news_are_taken_as_by_the_api(cluster: Cluster, on_threads: list[str]) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await in_thread(place, cluster)
        report = await at_work(agent)
        assert await in_thread(Job.objects.values_list("state", flat=True).get) == "running"
        end = AttemptReport(
            report.attempt_id, report.fence, ReportState.ENDED, end=End.EXITED, exit_code=0
        )
        answer = (await agent.sync(end)).json()
        assert [ack["attempt_id"] for ack in answer["acks"]] == [report.attempt_id]
        assert await in_thread(Job.objects.values_list("state", flat=True).get) == "succeeded"
        # Told again, because the answer was lost: acknowledged again.
        again = (await agent.sync(end)).json()
        assert [ack["attempt_id"] for ack in again["acks"]] == [report.attempt_id]

    with_door(act)


def test_a_gpus_fault_and_its_end_are_noted(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        ill = GpuStatus("GPU-n1-0", healthy=False, health_reason="fell off the bus")
        well = GpuStatus("GPU-n1-0", healthy=True)
        foreign = GpuStatus("GPU-of-nobody", healthy=False)
        faults = Gpu.objects.exclude(fault="").values_list("fault", flat=True)
        await agent.sync(gpus=(ill, foreign))
        assert await in_thread(lambda: list(faults.all())) == ["fell off the bus"]
        await agent.sync(gpus=(well,))
        assert await in_thread(lambda: list(faults.all())) == []

    with_door(act)


def test_a_lost_node_that_speaks_is_ready_again(cluster: Cluster) -> None:
    def lose(node_id: int) -> None:
        moved = Node.objects.filter(pk=node_id)
        advance(moved, sources=[State.READY], to=State.LOST, now=timezone.now(), reason="silent")

    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await in_thread(lose, agent.node_id)
        assert (await agent.sync(power=Power.ON)).status == 200
        assert await in_thread(Node.objects.values_list("state", flat=True).get) == "ready"

    with_door(act)


def test_another_epoch_is_fenced_and_a_late_sync_changes_nothing(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await agent.sync(power=Power.ON)
        late = Sync(agent.epoch, 0, BOOT, power=Power.OFF)
        assert (await agent.client.send("POST", SYNC_PATH, encode(late))).status == 200
        assert await in_thread(Node.objects.values_list("power_said", flat=True).get) == "on"
        other = Sync(agent.epoch + 1, 9, BOOT)
        answer = await agent.client.send("POST", SYNC_PATH, encode(other))
        assert (answer.status, answer.json()["code"]) == (409, "stale_epoch")

    with_door(act)


def test_an_attempt_that_is_no_longer_the_nodes_is_named(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        stranger = AttemptReport(4711, 1, ReportState.RUNNING)
        answer = await agent.sync(stranger)
        assert answer.status == 409
        assert answer.json()["stale"] == [{"attempt_id": 4711, "fence": 1}]

    with_door(act)


@contextmanager
def locked(node_id: int) -> Iterator[psycopg.Connection[Any]]:
    """As a round holds the nodes that it places on."""
    with psycopg.connect(**parameters()) as link:
        link.execute("SELECT 1 FROM clusters_node WHERE id = %s FOR NO KEY UPDATE", [node_id])
        yield link


def test_a_node_that_a_round_holds_keeps_nobody_else_waiting(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        held = await in_thread(join, door, cluster, "n1")
        free = await in_thread(join, door, cluster, "n2")
        with locked(held.node_id) as link:
            waits = asyncio.ensure_future(held.sync())
            assert (await free.sync()).status == 200
            assert not waits.done()
            link.rollback()
            assert (await waits).status == 200

    with_door(act)


def test_a_greedy_node_only_fills_its_own_place(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        greedy = await in_thread(join, door, cluster, "n1")
        modest = await in_thread(join, door, cluster, "n2")
        with locked(greedy.node_id) as link:
            flood = [asyncio.ensure_future(greedy.sync()) for _ in range(200)]
            assert (await modest.sync()).status == 200
            link.rollback()
            answers = await asyncio.gather(*flood)
        statuses = [answer.status for answer in answers]
        assert statuses.count(200) == 1
        assert {answer.status for answer in answers} == {200, 503}
        assert next(a for a in answers if a.status == 503).headers["retry-after"] == "1"

    with_door(act)


def test_the_nodes_budget_holds_here_too(cluster: Cluster, settings: LazySettings) -> None:
    settings.NODE_SYNCS_PER_MINUTE = 3

    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        statuses = [(await agent.sync()).status for _ in range(4)]
        assert statuses == [200, 200, 200, 429]

    with_door(act)


def test_who_may_not_is_told_as_by_the_api(cluster: Cluster) -> None:
    def revoke() -> None:
        ApiToken.objects.update(revoked_at=timezone.now())

    async def act(door: Door) -> None:
        body = encode(Sync(1, 1, BOOT))
        assert (await Client(door).send("POST", SYNC_PATH, body)).status == 401
        agent = await in_thread(join, door, cluster, "n1")
        assert (await agent.client.send("GET", SYNC_PATH)).status == 405
        bad = await agent.client.send("POST", SYNC_PATH, body.replace(b'"epoch":1', b'"epoch":"x"'))
        assert (bad.status, bad.json()["errors"][0]["pointer"]) == (400, "/epoch")
        long = await agent.client.send("POST", SYNC_PATH, headers={"content-length": "99999999"})
        assert long.status == 413
        await in_thread(revoke)
        assert (await agent.sync()).status == 401
        assert (await agent.client.send("POST", "/api/v1/agent/nothing", b"{}")).status == 404

    with_door(act)


def test_it_counts_the_token_as_used(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await agent.sync()
        used = ApiToken.objects.filter(last_used_at__isnull=False)
        assert await in_thread(used.count) == 1

    with_door(act)


def test_of_all_jobs_of_a_node_each_is_spelled_out_with_its_own_gpus(cluster: Cluster) -> None:
    async def act(door: Door) -> None:
        agent = await in_thread(join, door, cluster, "n1")
        await in_thread(place, cluster, 4)
        attempts = (await agent.sync()).json()["attempts"]
        assert len(attempts) == 4
        assert len({uuid for attempt in attempts for uuid in attempt["gpu_uuids"]}) == 4
        held = await in_thread(lambda: set(Allocation.objects.values_list("attempt", "gpu__uuid")))
        assert held == {(each["attempt_id"], each["gpu_uuids"][0]) for each in attempts}
        assert await in_thread(Attempt.objects.filter(state="starting").count) == 4

    with_door(act)
