"""A service to be fuzzed: servers of its own, seeded, and thrown away afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scheduler_service.embedded import broker, postgres
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import running
from tests.live.database import Database
from tests.live.server import Servers, api_server, seed
from tests.live.world import World


@dataclass(frozen=True)
class Stage:
    url: str
    world: World


@contextmanager
def stage() -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-fuzz-", dir="/tmp") as name:
        directory = Path(name)
        with (
            postgres.prepared(directory / "postgres", port=None, durable=False) as database,
            running(database.program, directory / "postgres.log"),
            broker.prepared(directory / "broker", port=free_port(), durable=False) as queue,
            running(queue.program, directory / "broker.log"),
        ):
            world = seed(Database(database.url))
            servers = Servers(database.url, queue.url, directory)
            with api_server(servers) as url:
                yield Stage(url, world)
