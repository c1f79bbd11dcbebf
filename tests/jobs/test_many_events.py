"""Events of many jobs: in an order that misses nothing, and at no cost while nothing happens."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection
from django.db.models import Max
from django.utils import timezone

from jobs.api.event_stream import Slots
from jobs.api.followers import many_events
from jobs.api.many_events import EventSelection, ManyEventsToFollow, ManyEventStream
from jobs.horizon import Horizon, Look
from jobs.models import Job, JobEvent
from scheduler_service.door import Door
from scheduler_service.factories import hold, make_cluster, make_gpu_type, make_nodes, make_tenant
from tenancy import throttles
from tenancy.callers import Caller
from tenancy.models import Tenant
from tenancy.roles import Role
from tests.api import Api
from tests.asgi import PATIENCE_S, Client
from tests.engines.agents.door.conftest import in_thread, with_door
from tests.jobs.test_events import Time, parsed
from tests.jobs.test_followers import SSE, finish, place, token, told

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/api/v1/jobs/events/"
Act = Callable[[Client], Awaitable[None]]


@pytest.mark.parametrize(
    ("looks", "settled"),
    [
        ([Look(5, 10, 10)], 5),
        # One was under way: 5 may be followed by a 4.
        ([Look(5, 9, 10)], 0),
        ([Look(5, 9, 10), Look(8, 10, 12)], 5),
        ([Look(5, 9, 10), Look(8, 10, 12), Look(8, 12, 12)], 8),
        # A look that comes late takes nothing back.
        ([Look(8, 12, 12), Look(5, 9, 10)], 8),
    ],
)
def test_what_is_told_is_complete(looks: list[Look], settled: int) -> None:
    horizon = Horizon()
    for look in looks:
        horizon.take(look)
    assert horizon.settled == settled


@pytest.fixture(autouse=True)
def budgets(settings: LazySettings) -> None:
    settings.CACHE_URL = "local:many"
    throttles.budgets.cache_clear()


@pytest.fixture
def jobs() -> list[Job]:
    """Of two tenants, on one cluster; the second has a label."""
    cluster = make_cluster("demo")
    nodes = make_nodes(cluster, make_gpu_type(), 2)
    names = zip(("ours", "theirs"), nodes, strict=True)
    found = [hold(make_tenant(name), node).job for name, node in names]
    Job.objects.filter(pk=found[1].pk).update(labels={"team": "vision"})
    return found


def run(act: Act, tenant: Tenant | None) -> None:
    role = Role.OPERATOR if tenant is None else Role.MEMBER

    async def with_client(door: Door) -> None:
        await act(Client(door, await in_thread(token, tenant, role)))

    with_door(with_client)


def test_a_tenant_is_told_of_its_own_jobs(jobs: list[Job]) -> None:
    ours, theirs = jobs

    async def act(client: Client) -> None:
        async with client.opened(PATH, SSE) as stream:
            await stream.until(b"id: ")
            await in_thread(place, theirs)
            await in_thread(place, ours)
            await in_thread(finish, ours)
            moves = await told(stream, 2)
        assert [move["to_state"] for move in moves] == ["placed", "cancelled"]
        assert {move["job_id"] for move in moves} == {ours.pk}
        assert (moves[0]["tenant"], moves[0]["cluster"]) == ("ours", "demo")

    run(act, ours.tenant)


def test_an_operator_follows_a_cluster_by_state_and_label(jobs: list[Job]) -> None:
    ours, theirs = jobs
    query = f"{PATH}?cluster=demo&state=placed,failed&label=team=vision"

    async def act(client: Client) -> None:
        async with client.opened(PATH, SSE) as every, client.opened(query, SSE) as some:
            await every.until(b"id: ")
            await some.until(b"id: ")
            for job in jobs:
                await in_thread(place, job)
            await in_thread(finish, theirs)
            assert {move["job_id"] for move in await told(every, 3)} == {ours.pk, theirs.pk}
            (seen,) = await told(some)
            assert (seen["job_id"], seen["labels"]) == (theirs.pk, {"team": "vision"})
        wrong = await client.send("GET", f"{PATH}?cluster=nowhere", headers=SSE)
        assert (wrong.status, wrong.json()["code"]) == (404, "unknown_cluster")
        assert (await client.send("GET", f"{PATH}?state=x", headers=SSE)).status == 400

    run(act, None)


def submitted(job: Job) -> None:
    """An event that rings nobody."""
    JobEvent.objects.create(
        tenant=job.tenant, job=job, at=timezone.now(), to_state="queued", reason="submitted"
    )


def test_who_comes_back_is_told_the_rest_and_new_jobs_too(jobs: list[Job]) -> None:
    job = jobs[0]

    async def act(client: Client) -> None:
        async with client.opened(PATH, SSE) as stream:
            await stream.until(b"id: ")
            await in_thread(submitted, job)
            (first,) = await told(stream)
        await in_thread(place, job)
        await in_thread(finish, job)
        after = {**SSE, "Last-Event-ID": str(first["id"])}
        async with client.opened(PATH, after) as stream:
            assert [m["to_state"] for m in await told(stream, 2)] == ["placed", "cancelled"]
        # A place that this database never came to: from now on, instead of never.
        async with client.opened(PATH, {**SSE, "Last-Event-ID": "9" * 15}) as stream:
            await stream.until(b"id: ")
            await in_thread(submitted, job)
            assert [m["to_state"] for m in await told(stream)] == ["queued"]

    run(act, job.tenant)


def test_an_event_that_is_committed_late_is_not_passed_over(jobs: list[Job]) -> None:
    """Another transaction draws an id, and commits after an event with a higher one."""
    job, other = jobs
    insert = """
        INSERT INTO jobs_jobevent (tenant_id, job_id, at, to_state, reason, detail)
        VALUES (%s, %s, now(), 'queued', 'late', '{}')
    """

    async def act(client: Client) -> None:
        given = connection.get_connection_params()
        given = {key: value for key, value in given.items() if key in LINK}
        async with client.opened(PATH, SSE) as stream:
            await stream.until(b"id: ")
            async with await psycopg.AsyncConnection.connect(**given) as late:
                await late.execute("SELECT set_config('fairwatt.scope', 'all', false)")
                await late.execute(insert, [other.tenant_id, other.pk])
                await in_thread(place, job)
                many: Any = client.app
                await many.followers.many.look()
                assert b"data:" not in stream.content
            reasons = [move["reason"] for move in await told(stream, 2)]
        assert reasons == ["late", "test"]

    run(act, None)


LINK = {"dbname", "user", "password", "host", "port"}


class Reads:
    """What a follower asks of the database, counted; and whether it waits for an answer."""

    def __init__(self, many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.ended = 0
        self._many, self._page = many, many._page
        monkeypatch.setattr(many, "_page", self._counted)

    async def _counted(self, *args: Any) -> Any:
        self.begun += 1
        page = await self._page(*args)
        self.ended += 1
        return page

    async def over(self, newest: int, tenant_id: int) -> None:
        """What was there before it came has been told, and nothing more is asked for."""
        many = self._many
        while (
            self.begun > self.ended
            or many._told_until < newest
            or any(told.is_set() or told.after < newest for told in many._waiting.of(tenant_id))
        ):
            await asyncio.sleep(0.01)


def place_of(stream: Any) -> int:
    """Up to where it was told, by what came and was not read yet."""
    return max(map(int, re.findall(rb"id: (\d+)\n", stream.content)), default=0)


def test_at_rest_nobody_asks_the_database(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line now and then moves the place on, though others' jobs move."""
    monkeypatch.setattr(many_events, "ALIVE_S", 0.05)
    ours, theirs = jobs
    place(ours)  # ids go on from test to test: after none at all, the first looks like very many
    newest = JobEvent.objects.aggregate(id=Max("id"))["id"]

    async def act(client: Client) -> None:
        many = client.app.followers.many  # type: ignore[attr-defined]
        reads = Reads(many, monkeypatch)
        async with client.opened(PATH, SSE) as stream, asyncio.timeout(PATIENCE_S):
            await stream.until(b"id: ")
            await reads.over(newest, ours.tenant_id)
            before, asked = many._told_until, reads.begun
            await in_thread(place, theirs)
            while place_of(stream) <= before:
                await asyncio.sleep(0.01)
            assert reads.begun == asked

    run(act, ours.tenant)


def test_who_comes_during_a_look_shares_the_next(
    jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    look = many_events.ManyEventFollowers._look

    async def counted(self: Any) -> None:
        looks.append(1)
        await look(self)

    monkeypatch.setattr(many_events.ManyEventFollowers, "_look", counted)

    async def act(client: Client) -> None:
        many = client.app.followers.many  # type: ignore[attr-defined]
        await asyncio.gather(*[many.look() for _ in range(20)])

    run(act, jobs[0].tenant)
    assert len(looks) == 2


def test_many_are_told_by_one_read(jobs: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = many_events.ManyEventFollowers._read

    async def counted(self: Any, scope: str, tenant: int | None, asked: Any) -> Any:
        reads.append(len(asked))
        return await read(self, scope, tenant, asked)

    async def act(client: Client) -> None:
        many = client.app.followers.many  # type: ignore[attr-defined]
        streams = [client.opened(PATH, SSE) for _ in range(50)]
        opened = [await stream.__aenter__() for stream in streams]
        for stream in opened:
            await stream.until(b"id: ")
        monkeypatch.setattr(many_events.ManyEventFollowers, "_read", counted)
        many._news.clear()
        await in_thread(place, jobs[0])
        for stream in opened:
            assert [move["to_state"] for move in await told(stream)] == ["placed"]
        for one in streams:
            await one.__aexit__(None, None, None)
        assert sum(reads) == 50
        assert len(reads) <= 3

    run(act, jobs[0].tenant)


def test_the_api_itself_lists_and_streams_them(jobs: list[Job]) -> None:
    for job in jobs:
        place(job)
    operator, member = (Api(token(None, Role.OPERATOR)), Api(token(jobs[0].tenant)))
    assert {item["job_id"] for item in operator.get(PATH).json()["items"]} == {j.pk for j in jobs}
    (only,) = member.get(f"{PATH}?state=placed").json()["items"]
    assert (only["job_id"], only["name"]) == (jobs[0].pk, jobs[0].name)
    caller = Caller(1, Role.MEMBER, tenant_id=jobs[0].tenant_id)

    def streamed(after: int | None, **selection: Any) -> list[dict[str, Any]]:
        time = Time(meanwhile={2: lambda: finish(jobs[0])} if after is None else {})
        wanted = ManyEventsToFollow(caller, EventSelection(**selection), after)
        clocks = {"slots": Slots(1), "clock": time.clock, "pause": time.pause}
        return parsed(chunk for chunk in ManyEventStream(wanted, **clocks) if b"data:" in chunk)

    assert [move["to_state"] for move in streamed(None)] == ["cancelled"]
    assert [move["to_state"] for move in streamed(0)] == ["placed", "cancelled"]
    assert streamed(0, label="team=vision") == []
