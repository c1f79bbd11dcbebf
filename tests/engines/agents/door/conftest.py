"""The door in this process, on the test's database, with nodes that have joined."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from django.db import connections
from django.utils import timezone

from agent.wire import BELL_PATH, SYNC_PATH, AttemptReport, Register, Sync, encode
from clusters.models import Cluster, Node
from engines.agents.registration import node_register
from scheduler_service.door import Door
from tenancy import throttles
from tests.asgi import Client, Exchange
from tests.engines.agents.nodes import BOOT, inventory, join_token

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def fresh_budgets() -> Iterator[None]:
    throttles.budgets.cache_clear()
    yield
    throttles.budgets.cache_clear()


@asynccontextmanager
async def opened_door() -> AsyncIterator[Door]:
    door = Door()
    await door.start()
    try:
        yield door
    finally:
        await door.stop()


def with_door(act: Callable[[Door], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with opened_door() as door:
            return await act(door)

    return asyncio.run(run())


async def in_thread(act: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """What asks the database by Django, which does not do so beside a loop."""

    def run() -> Result:
        try:
            return act(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.to_thread(run)


@dataclass
class DoorAgent:
    """An agent that speaks over the wire."""

    node_id: int
    epoch: int
    client: Client
    sequence: int = 0

    async def sync(self, *reports: AttemptReport, **fields: Any) -> Exchange:
        self.sequence += 1
        message = Sync(self.epoch, self.sequence, BOOT, attempts=reports, **fields)
        return await self.client.send("POST", SYNC_PATH, encode(message))

    def bell(self) -> Any:
        return self.client.opened(BELL_PATH)


def join(door: Door, cluster: Cluster, name: str) -> DoorAgent:
    register = Register(f"install-{name}", inventory(name), join_token(cluster, timezone.now()))
    joined = node_register(caller=None, register=register, now=timezone.now())
    assert joined.secret is not None
    node = Node.objects.get(pk=joined.node.pk)
    return DoorAgent(node.pk, node.epoch, Client(door, joined.secret))
