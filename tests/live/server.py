"""The API server of production, as a child process, for as long as a block lasts."""

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running
from tests.live.database import Database
from tests.live.world import World

APP = "scheduler_service.api:application"
# Behind the front granian has none of its own.
THREADS = {"rsgi": (), "wsgi": ("--blocking-threads", "4")}
# Not from the settings: importing those would fix the database of whoever starts a server.
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Servers:
    """What the API stands on, and where its log goes."""

    database_url: str
    broker_url: str
    directory: Path

    @property
    def log(self) -> Path:
        return self.directory / "api.log"


def seed(database: Database) -> World:
    """Migrate and fill an empty database, in a process whose Django points there."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.live.seed"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database.url},
        stdout=subprocess.PIPE,
        check=True,
    )
    return World.load(made.stdout.decode())


@contextmanager
def api_server(
    servers: Servers,
    *,
    app: str = APP,
    interface: str = "rsgi",
    ready: str = "/readyz",
    workers: int = 1,
    env: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of a server that answers; throttles are out of the way unless `env` sets them."""
    port = free_port()
    program = Program(
        name="api",
        argv=(
            *(sys.executable, "-m", "granian", "--interface", interface, app),
            *("--host", LOOPBACK, "--port", str(port), "--no-ws", "--log-level", "warning"),
            *("--workers", str(workers), *THREADS[interface]),
        ),
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": servers.database_url,
            "BROKER_URL": servers.broker_url,
            "THROTTLE_PER_MINUTE": "1000000000",
            "THROTTLE_ANONYMOUS_PER_MINUTE": "1000000000",
            **(env or {}),
        },
        ready=lambda pid: _answers(port, ready),
        # Nothing of it is kept; its workers are of its process group and go with it.
        stop_signal=signal.SIGKILL,
    )
    with running(program, servers.log):
        yield f"http://{LOOPBACK}:{port}"


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except OSError:
        return False
    finally:
        connection.close()
