"""One running service for all these tests: the whole of `make up`, with its four emulated nodes.

`CLIENT_TEST_VAR` names the directory of one that runs already, for those who run this all day; with
`WEBHOOK_NETWORKS=127.0.0.0/8`, since receivers of webhooks are here.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairwatt
import httpx2
import psutil
import pytest

from scheduler_service.embedded.ports import free_port
from scheduler_service.settings import BASE_DIR
from tests.scheduler_service.embedded.processes import eventually
from tests.scheduler_service.embedded.test_up import COMMAND, READY, environment

START_S = 300.0
# Hundreds of requests would bury what a failed test has to say.
logging.getLogger("httpx2").setLevel(logging.WARNING)
COMMAND_S = 120.0


@dataclass(frozen=True)
class Service:
    """A service that runs, and who may ask it."""

    var: Path
    pid: int | None

    @property
    def demo(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.var / "demo.json").read_text())
        return found

    @property
    def url(self) -> str:
        return str(self.demo["url"])

    def client(self, who: str = "tenant", **more: Any) -> fairwatt.Client:
        return fairwatt.Client(self.url, self.demo[f"{who}_token"], **more)

    def knows(self, path: str) -> bool:
        schema = httpx2.get(f"{self.url}/api/v1/schema/?format=json", timeout=60)
        return path in schema.json()["paths"]

    def kill_api(self) -> None:
        """As the kernel kills; the supervisor starts it again."""
        port = self.url.rsplit(":", 1)[1]
        for process in psutil.process_iter(["cmdline", "pid"]):
            words = process.info["cmdline"] or []
            leads = "granian" in words and port in words and os.getpgid(process.pid) == process.pid
            if leads:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    running = os.environ.get("CLIENT_TEST_VAR")
    if running:
        yield Service(Path(running), None)
        return
    with tempfile.TemporaryDirectory(prefix="fairwatt-test-", dir="/tmp") as directory:
        yield from _started(Path(directory))


def _started(home: Path) -> Iterator[Service]:
    log = home / "log"
    outer = environment(home, free_port()) | {"WEBHOOK_NETWORKS": "127.0.0.0/8"}
    outer.pop("PYTHONDONTWRITEBYTECODE", None)
    with log.open("wb") as output:
        process = subprocess.Popen(COMMAND, cwd=BASE_DIR, env=outer, stdout=output, stderr=output)
    try:
        eventually(lambda: READY in log.read_text() or process.poll() is not None, READY, START_S)
        assert READY in log.read_text(), log.read_text()[-3000:]
        yield _with_nodes(Service(home / "var", process.pid))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _with_nodes(service: Service) -> Service:
    """All four, and the plainest policy: it is the client that is tested here."""
    with service.client("operator") as client:
        client.set_policy("fifo-backfill")
        eventually(
            lambda: len(list(client.nodes(state="ready"))) == 4, "four nodes are ready", START_S
        )
    return service


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


Cli = Callable[..., Ended]


@pytest.fixture
def cli(service: Service, tmp_path: Path) -> Cli:
    """The command, logged in as the demo's tenant, with a configuration of its own."""
    demo = service.demo

    def run(*words: str, who: str = "tenant", **env: str) -> Ended:
        return run_command(
            words,
            {"FAIRWATT_URL": demo["url"], "FAIRWATT_TOKEN": demo[f"{who}_token"], **env},
            tmp_path,
        )

    return run


def run_command(words: Sequence[str], env: dict[str, str], home: Path) -> Ended:
    done = subprocess.run(
        command(*words),
        env=command_env(home, env),
        cwd=home,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=COMMAND_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def heard_sigint() -> Iterator[None]:
    """A shell that runs tests in the background has them ignore it, and so would their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "fairwatt.cli.main", *words]


def command_env(home: Path, env: dict[str, str]) -> dict[str, str]:
    """As a user has it: without what tells Python how to behave, or of a service."""
    strange = ("FAIRWATT_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    own = {"XDG_CONFIG_HOME": str(home / "config"), "PYTHONPATH": str(BASE_DIR / "client")}
    return kept | own | env
