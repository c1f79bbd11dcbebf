"""Real agents in processes of their own, against a real HTTP service of the tests."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from agent.devices.emulated import NAMESPACE
from agent.wire import DesiredAttempt
from tests.agent.service import JOIN_TOKEN, Listener, Service, until

TWO_GPUS = """
[host]
cpus = 8
memory_mib = 65536
idle_w = 200
peak_w = 600

[[gpus]]
type = "A100-SXM4-80GB"
count = 2
memory_mib = 81920
idle_w = 55
max_w = 400
clocks_mhz = [510, 810, 1110, 1410]
"""

NODE = "node-1"


def gpu_uuid(index: int, node: str = NODE) -> str:
    import uuid  # noqa: PLC0415 - the one place that knows how emulated GPUs are named

    return f"GPU-{uuid.uuid5(NAMESPACE, f'{node}/{index}')}"


class AgentProcess:
    """One `python -m agent`, its state directory, and what it leaves there."""

    def __init__(self, url: str, state: Path, catalogue: Path, env: dict[str, str]) -> None:
        self.state, self._url, self._catalogue, self._env = state, url, catalogue, env
        self.process: subprocess.Popen[bytes] | None = None
        self.log = state.with_name(state.name + ".agent.log")

    def start(self, *more: str) -> "AgentProcess":
        argv = [sys.executable, "-m", "agent", "--server", self._url, "--name", NODE]
        argv += ["--state-dir", str(self.state), "--devices", f"emulated:{self._catalogue}", *more]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(argv, env=self._env, stdout=log, stderr=log)
        return self

    @property
    def running(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        return self.process

    def signal(self, number: signal.Signals) -> None:
        self.running.send_signal(number)

    def kill(self) -> None:
        """As the kernel would: no handler runs."""
        self.running.kill()
        self.running.wait()

    def wait(self, within_s: float = 15.0) -> int:
        return self.running.wait(within_s)

    def said(self) -> str:
        return self.log.read_text()

    def run_dir(self, attempt_id: int) -> Path | None:
        return next(iter((self.state / "runs").glob(f"{attempt_id}-*")), None)

    def journal(self) -> list[dict[str, object]]:
        lines = (self.state / "journal.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def stop(self) -> None:
        """Whatever a test left: the agent, and the attempts that outlive it by design."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.kill()
        for path in self.state.glob("runs/*/claim"):
            with contextlib.suppress(psutil.NoSuchProcess, ValueError):
                shim = psutil.Process(json.loads(path.read_text())["pid"])
                if any("shim.py" in part for part in shim.cmdline()):
                    for process in [*shim.children(recursive=True), shim]:
                        with contextlib.suppress(psutil.NoSuchProcess):
                            process.kill()


@pytest.fixture
def service() -> Iterator[Service]:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    with Listener(service) as listener:
        yield listener.url


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "node.toml"
    path.write_text(TWO_GPUS)
    return path


@pytest.fixture
def new_agent(tmp_path: Path, url: str, catalogue: Path) -> Iterator[Callable[..., AgentProcess]]:
    """Agents with a state directory each; all are gone afterwards."""
    made: list[AgentProcess] = []
    root = Path(__file__).parents[2]
    env = os.environ | {
        "FAIRWATT_JOIN_TOKEN": JOIN_TOKEN,
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(root),
    }

    def make(name: str = "state") -> AgentProcess:
        made.append(AgentProcess(url, tmp_path / name, catalogue, dict(env)))
        return made[-1]

    yield make
    for agent in made:
        agent.stop()


@pytest.fixture
def agent(new_agent: Callable[..., AgentProcess]) -> AgentProcess:
    return new_agent().start()


@pytest.fixture
def attempt() -> Callable[..., DesiredAttempt]:
    """An attempt of a Python program on GPU 0, with anything changed."""

    def make(code: str = "import time; time.sleep(600)", **changes: object) -> DesiredAttempt:
        attempt_id = changes.pop("attempt_id", 7)
        facts: dict[str, object] = {
            "attempt_id": attempt_id,
            "fence": 70,
            "job_id": 3,
            "argv": (sys.executable, "-c", code),
            "gpu_uuids": (gpu_uuid(0),),
            "cpus": 1,
            "memory_mib": 0,
            "checkpoint_key": "3",
            "grace_s": 5.0,
        }
        return DesiredAttempt(**(facts | changes))  # type: ignore[arg-type]

    return make


@pytest.fixture
def bwrap() -> str:
    if found := shutil.which("bwrap"):
        return found
    pytest.skip("bubblewrap is not installed")


__all__ = ["AgentProcess", "until"]
