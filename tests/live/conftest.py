"""The running service, started once; each test that changes rows gets a database of its own."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live.database import Database
from tests.live.server import APP, Servers, api_server, seed
from tests.live.world import World

# Thousands of requests would bury what a failed test has to say.
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Live:
    """A running API, what its database holds, and a client for any caller of the world."""

    url: str
    world: World
    database: Database

    http: httpx.Client

    def send(self, caller: str, method: str, path: str, **more: Any) -> httpx.Response:
        """One request as `caller`, over a connection that all share."""
        secret = self.world.secrets.get(caller)
        identity = {"Authorization": f"Bearer {secret}"} if secret else {}
        headers = {**identity, **more.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **more)


@dataclass(frozen=True)
class Seeded:
    database: Database
    world: World
    broker_url: str
    directory: Path
    template: str

    def clone(self, name: str) -> tuple[Database, Servers]:
        database = self.database.create(f"{self.template}_{name}", template=self.template)
        return database, Servers(database.url, self.broker_url, self.directory)


@pytest.fixture(scope="session")
def seeded(database_url: str, broker_url: str, throwaway_directory: Path, worker_id: str) -> Seeded:
    """Named after the worker, which may share a configured server with others."""
    server, template = Database(database_url), f"fairwatt_{worker_id}"
    world = seed(server.create(template))
    return Seeded(server, world, broker_url, throwaway_directory, template)


def _live(seeded: Seeded, name: str, app: str) -> Iterator[Live]:
    database, servers = seeded.clone(name)
    with (
        api_server(servers, app=app) as url,
        httpx.Client(base_url=url, timeout=30, trust_env=False) as http,
    ):
        database.changes()
        yield Live(url, seeded.world, database, http)


@pytest.fixture(scope="session")
def live(seeded: Seeded) -> Iterator[Live]:
    """For requests that change nothing."""
    yield from _live(seeded, "live", APP)


@pytest.fixture
def nothing_is_stored(live: Live) -> Iterator[None]:
    yield
    assert live.database.changes() == {}


@pytest.fixture(scope="module")
def changing_live(seeded: Seeded, request: pytest.FixtureRequest) -> Iterator[Live]:
    """Of one module, whose tests may change what they like."""
    name = request.module.__name__.rpartition(".")[-1]
    yield from _live(seeded, name, APP)


@pytest.fixture(scope="session")
def live_without_filters(seeded: Seeded) -> Iterator[Live]:
    yield from _live(seeded, "unfiltered", "tests.live.api_without_filters:application")
