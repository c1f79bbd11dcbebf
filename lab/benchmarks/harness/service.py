"""A service for the length of a benchmark: its API alone, or with all that `make up` starts."""

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.benchmarks.harness.waiting import until
from scheduler_service.embedded import broker
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running
from scheduler_service.embedded.stack import Site, services
from tests.live.server import Servers, api_server

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
# On a busy machine Django alone takes a minute.
START_S = 300.0
_OF_A_SERVICE = ("DATABASE_URL", "BROKER_URL", "CACHE_URL")


@dataclass(frozen=True)
class BenchmarkService:
    """Where it answers, and a directory for whatever runs with it."""

    address: str
    directory: Path
    door: str = ""
    """Of agents and followers; the API answers them too, fewer at once."""

    def client(self, token: str) -> httpx.Client:
        """Somebody who asks it; to be closed."""
        logging.getLogger("httpx").setLevel(logging.WARNING)
        bearer = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.address, headers=bearer, timeout=60, trust_env=False)


@dataclass(frozen=True)
class EmulatedNode:
    """A node to be: `devices` is the file that describes its GPUs and host."""

    name: str
    join_token: str
    devices: Path


@contextmanager
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp") as name:
        yield Path(name)


@contextmanager
def servers(database_url: str, *, durable: bool = True) -> Iterator[Servers]:
    """What an API stands on: the database, a broker, a directory."""
    with (
        directory() as home,
        broker.prepared(home / "broker", port=free_port(), durable=durable) as queue,
        running(queue.program, home / "broker.log"),
    ):
        yield Servers(database_url, queue.url, home)


@contextmanager
def api(database_url: str) -> Iterator[BenchmarkService]:
    """The API without workers: the benchmark holds the rounds itself."""
    with servers(database_url, durable=False) as stand, api_server(stand) as address:
        yield BenchmarkService(address, stand.directory)


@contextmanager
def stack(database_url: str, nodes: Sequence[Mapping[str, str]] = ()) -> Iterator[BenchmarkService]:
    """API, workers and beat as `make up` starts them, without its agents but with these."""
    with servers(database_url) as stand, ExitStack() as up:
        var = stand.directory
        env = {**os.environ, "DATABASE_URL": database_url, "BROKER_URL": stand.broker_url,
               "CACHE_URL": stand.broker_url, "FAIRWATT_VAR": str(var)}  # fmt: skip
        (var / "demo.json").write_text(json.dumps({"agents": list(nodes)}))
        (var / "static").mkdir()
        site = Site(ROOT, var, LOOPBACK, free_port(), free_port(), env, lock=sys.stderr.fileno())
        for program in services(site):
            log = var / f"{program.name}.log"
            up.enter_context(running(program, log, patience_s=START_S))
        yield BenchmarkService(site.url, var, site.door_url)


@contextmanager
def whole_demo() -> Iterator[BenchmarkService]:
    """`make up` itself, with its own database; the directory is its FAIRWATT_VAR's parent."""
    with directory() as home:
        home.chmod(0o755)
        env = {name: value for name, value in os.environ.items() if name not in _OF_A_SERVICE}
        env |= {"FAIRWATT_VAR": str(home / "var"), "FAIRWATT_PORT": str(free_port()),
                "FAIRWATT_DOOR_PORT": str(free_port())}  # fmt: skip
        log = home / "log"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "scheduler_service.embedded", "up"]
            up = subprocess.Popen(command, cwd=ROOT, env=env, stdout=output, stderr=output)
        try:
            until(lambda: _is_up(up, log), "the demo is up")
            yield BenchmarkService(f"http://{LOOPBACK}:{env['FAIRWATT_PORT']}", home)
        finally:
            up.terminate()
            up.wait()


def _is_up(process: subprocess.Popen[bytes], log: Path) -> bool:
    printed = log.read_text(errors="replace")
    if process.poll() is not None:
        raise RuntimeError(f"make up ended with code {process.returncode}:\n{printed[-2000:]}")
    return "Fairwatt is ready" in printed


@contextmanager
def agents(nodes: Iterable[EmulatedNode], service: BenchmarkService) -> Iterator[None]:
    """An agent's program per node, which keeps its state in the directory under the node's name."""
    with ExitStack() as up:
        for node in nodes:
            up.enter_context(running(_agent(node, service), service.directory / f"{node.name}.log"))
        yield


def _agent(node: EmulatedNode, service: BenchmarkService) -> Program:
    return Program(
        name=node.name,
        argv=(
            *(sys.executable, "-m", "agent", "--server", service.address),
            *("--name", node.name, "--address", LOOPBACK),
            *("--state-dir", str(service.directory / node.name)),
            *("--checkpoint-dir", str(service.directory / "checkpoints")),
            *("--devices", f"emulated:{node.devices}"),
            # Its jobs are the benchmark's own.
            "--trust-tenants",
        ),
        cwd=ROOT,
        env={**os.environ, "FAIRWATT_JOIN_TOKEN": node.join_token},
    )
