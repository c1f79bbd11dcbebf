"""Tenants' streams at the door: resumed, told at once, within bounds and without a thread each."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from jobs.api.followers import events
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job, JobEvent, Log, LogChunk
from scheduler_service.door import Door
from scheduler_service.factories import hold, make_cluster, make_gpu_type, make_nodes, make_tenant
from tenancy import throttles
from tenancy.callers import SYSTEM, Caller
from tenancy.models import Tenant
from tenancy.roles import Role
from tenancy.tokens import token_create, token_revoke
from tests.asgi import PATIENCE_S, Client, Exchange
from tests.engines.agents.door.conftest import in_thread, with_door

pytestmark = pytest.mark.django_db(transaction=True)
SSE = {"Accept": "text/event-stream"}


@pytest.fixture(autouse=True)
def local_budgets(settings: LazySettings) -> None:
    settings.CACHE_URL = "local:followers"
    throttles.budgets.cache_clear()


def token(tenant: Tenant | None, role: Role = Role.MEMBER) -> str:
    return token_create(
        SYSTEM, name="t", role=role, tenant_id=None if tenant is None else tenant.pk
    ).secret


@pytest.fixture
def job() -> Job:
    cluster = make_cluster()
    (node,) = make_nodes(cluster, make_gpu_type(), 1)
    attempt = hold(make_tenant(), node)
    JobEvent.objects.create(
        tenant=attempt.tenant, job=attempt.job, at=timezone.now(), to_state="queued", reason="x"
    )
    return attempt.job


def move(job: Job, to: State, *sources: State) -> None:
    advance([job.pk], sources=sources, to=to, reason="test", now=timezone.now())


def place(job: Job) -> None:
    move(job, State.PLACED, State.QUEUED)


def finish(job: Job) -> None:
    move(job, State.CANCELLED, State.QUEUED, State.PLACED)


def path(job: Job) -> str:
    return f"/api/v1/jobs/{job.pk}/events/"


async def told(stream: Exchange, most: int = 1) -> list[dict[str, Any]]:
    """The next events of the stream."""
    found: list[dict[str, Any]] = []
    while len(found) < most:
        for block in (await stream.next()).decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "data" in lines:
                found.append(json.loads(lines["data"]))
    return found


def run(act: Callable[[Client], Awaitable[None]], tenant: Tenant) -> None:
    async def with_client(door: Door) -> None:
        await act(Client(door, await in_thread(token, tenant)))

    with_door(with_client)


def test_the_past_is_told_and_what_happens_next_until_the_end(job: Job) -> None:
    async def act(client: Client) -> None:
        async with client.opened(path(job), SSE) as stream:
            assert [event["to_state"] for event in await told(stream)] == ["queued"]
            assert stream.headers["content-type"] == "text/event-stream"
            await in_thread(place, job)
            assert [event["to_state"] for event in await told(stream)] == ["placed"]
            await in_thread(finish, job)
            assert [event["to_state"] for event in await told(stream)] == ["cancelled"]
            async with asyncio.timeout(PATIENCE_S):
                await stream.ended.wait()

    run(act, job.tenant)


def test_it_resumes_after_the_last_event_received(job: Job) -> None:
    async def act(client: Client) -> None:
        async with client.opened(path(job), SSE) as stream:
            (first,) = await told(stream)
        await in_thread(place, job)
        await in_thread(finish, job)
        after = {**SSE, "Last-Event-ID": str(first["id"])}
        async with client.opened(path(job), after) as stream:
            assert [event["to_state"] for event in await told(stream, 2)] == ["placed", "cancelled"]
        last = {**SSE, "Last-Event-ID": str(first["id"] + 2)}
        assert (await client.send("GET", path(job), headers=last)).status == 204

    run(act, job.tenant)


def test_a_notice_that_is_lost_costs_a_breath(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "ALIVE_S", 0.05)
    monkeypatch.setattr(events.EventFollowers, "tell", lambda self, job_id: None)

    async def act(client: Client) -> None:
        async with client.opened(path(job), SSE) as stream:
            await told(stream)
            await in_thread(place, job)
            assert [event["to_state"] for event in await told(stream)] == ["placed"]

    run(act, job.tenant)


def test_rights_are_those_of_the_api(job: Job) -> None:
    def tokens() -> tuple[str, str, str]:
        other = make_tenant("other")
        return token(other), token(None, Role.OPERATOR), token(job.tenant)

    async def act(door: Door) -> None:
        foreign, operator, own = await in_thread(tokens)
        assert (await Client(door).send("GET", path(job), headers=SSE)).status == 401
        for url in (path(job), f"/api/v1/jobs/{job.pk}/logs/"):
            assert (await Client(door, foreign).send("GET", url, headers=SSE)).status in (404, 406)
        async with Client(door, operator).opened(path(job), SSE) as stream:
            await told(stream)
        listed = await Client(door, own).send("GET", path(job))
        assert [item["to_state"] for item in listed.json()["items"]] == ["queued"]
        bad = await Client(door, own).send("GET", path(job), headers={"Last-Event-ID": "x", **SSE})
        assert bad.status == 400
        assert (await Client(door, own).send("GET", "/api/v1/jobs/")).status == 404

    with_door(act)


def test_row_level_security_stands_behind_the_view(job: Job) -> None:
    """If the view let a stranger through, there would still be nothing to see."""

    async def act(door: Door) -> None:
        stranger = await in_thread(lambda: make_tenant("other"))
        caller = Caller(token_id=1, role=Role.MEMBER, tenant_id=stranger.pk)
        owner = Caller(token_id=1, role=Role.MEMBER, tenant_id=job.tenant_id)
        assert await door.followers.events.events(caller, job.pk, 0) == []
        assert len(await door.followers.events.events(owner, job.pk, 0)) == 1

    with_door(act)


@asynccontextmanager
async def many(client: Client, job: Job, count: int) -> AsyncIterator[list[Exchange]]:
    async with AsyncExitStack() as opened:
        streams = [
            await opened.enter_async_context(client.opened(path(job), SSE)) for _ in range(count)
        ]
        await asyncio.gather(*(told(stream) for stream in streams))
        yield streams


@pytest.mark.slow
def test_hundreds_of_streams_hold_no_thread_and_no_connection_each(
    job: Job, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.api.followers.app.OPEN_S", 600.0)

    async def act(client: Client) -> None:
        async with many(client, job, 300) as streams:
            names = [thread.name for thread in threading.enumerate()]
            assert sum(name.startswith("streams") for name in names) <= settings.STREAM_THREADS
            assert len(names) < 20
            await in_thread(place, job)
            moved = await asyncio.gather(*(told(stream) for stream in streams))
            assert {events[0]["to_state"] for events in moved} == {"placed"}

    run(act, job.tenant)


def test_a_tenant_takes_no_more_than_its_places(job: Job, settings: LazySettings) -> None:
    settings.STREAMS_PER_TENANT = 2

    async def act(client: Client) -> None:
        async with many(client, job, 2):
            refused = await client.send("GET", path(job), headers=SSE)
            assert (refused.status, refused.json()["code"]) == (503, "too_many_streams")
        async with client.opened(path(job), SSE) as stream:
            await told(stream)

    run(act, job.tenant)


def test_who_does_not_read_is_sent_a_bounded_amount(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_BYTES", 100)
    monkeypatch.setattr(events, "ALIVE_S", 0.01)

    async def act(client: Client) -> None:
        answer = await client.send("GET", path(job), headers=SSE)
        assert answer.status == 200
        assert len(answer.content) < 1000

    run(act, job.tenant)


def printed(job: Job, data: bytes) -> Log:
    attempt = Attempt.objects.get(job=job)
    node = attempt.allocation_set.values_list("node_id", flat=True)[0]
    log = Log.objects.create(
        tenant=job.tenant, attempt=attempt, node_id=node, stream="stdout",
        size=len(data), updated_at=timezone.now(),
    )  # fmt: skip
    LogChunk.objects.create(tenant=job.tenant, log=log, offset=0, data=data)
    return log


def grow(log: Log, data: bytes) -> None:
    LogChunk.objects.create(tenant_id=log.tenant_id, log=log, offset=log.size, data=data)
    Log.objects.filter(pk=log.pk).update(size=log.size + len(data))


def test_a_log_is_followed_without_a_thread(job: Job) -> None:
    url = f"/api/v1/jobs/{job.pk}/logs/?offset=5&wait_s=20"

    async def act(client: Client) -> None:
        log = await in_thread(printed, job, b"hello")
        waits = asyncio.ensure_future(client.send("GET", url))
        door: Any = client.app
        async with asyncio.timeout(PATIENCE_S):
            while not len(door.followers.places):
                await asyncio.sleep(0.01)
        await in_thread(grow, log, b" world")
        answer = (await waits).json()
        assert (answer["text"], answer["next_offset"]) == (" world", 11)
        assert len(door.followers.places) == 0
        bad = await client.send("GET", f"/api/v1/jobs/{job.pk}/logs/?offset=5&wait_s=9999")
        assert bad.status == 400

    run(act, job.tenant)


def test_a_log_is_waited_for_before_the_job_prints(job: Job) -> None:
    url = f"/api/v1/jobs/{job.pk}/logs/?wait_s=20"

    async def act(client: Client) -> None:
        door: Any = client.app
        waits = asyncio.ensure_future(client.send("GET", url))
        async with asyncio.timeout(PATIENCE_S):
            while not len(door.followers.places):
                await asyncio.sleep(0.01)
        await in_thread(printed, job, b"hello")
        assert (await waits).json()["text"] == "hello"

        other = asyncio.ensure_future(client.send("GET", f"{url}&stream=stderr"))
        async with asyncio.timeout(PATIENCE_S):
            while not len(door.followers.places):
                await asyncio.sleep(0.01)
        await in_thread(finish, job)
        over = await other
        assert (over.status, over.json()["code"]) == (404, "no_log")
        again = await client.send("GET", f"{url}&stream=stderr")
        assert again.status == 404

    run(act, job.tenant)


def test_who_leaves_gives_its_place_back(job: Job) -> None:
    url = f"/api/v1/jobs/{job.pk}/logs/?offset=5&wait_s=20"

    async def act(client: Client) -> None:
        await in_thread(printed, job, b"hello")
        door: Any = client.app
        async with client.opened(url), asyncio.timeout(PATIENCE_S):
            while not len(door.followers.places):
                await asyncio.sleep(0.01)
        assert len(door.followers.places) == 0

    run(act, job.tenant)


def test_a_revoked_token_opens_nothing(job: Job) -> None:
    def revoked() -> str:
        issued = token_create(SYSTEM, name="t", role=Role.MEMBER, tenant_id=job.tenant_id)
        token_revoke(SYSTEM, issued.token, timezone.now())
        return issued.secret

    async def act(door: Door) -> None:
        secret = await in_thread(revoked)
        assert (await Client(door, secret).send("GET", path(job), headers=SSE)).status == 401

    with_door(act)
