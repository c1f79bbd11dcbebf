"""Real agents in processes of their own, against a real HTTP service of the tests."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.wire import DesiredAttempt
from tests.agent.process import TWO_GPUS, AgentProcess, gpu_uuid, outside_environment
from tests.agent.service import JOIN_TOKEN, Listener, ScriptedService

FOREVER = "import time; time.sleep(600)"


class Ground:
    """A service and the agents of one node, below one directory."""

    def __init__(self, directory: Path, service: ScriptedService, url: str) -> None:
        self.directory, self.service, self.url = directory, service, url
        self.catalogue = directory / "node.toml"
        self.catalogue.write_text(TWO_GPUS)
        self.agents: list[AgentProcess] = []
        self._env = outside_environment(directory, JOIN_TOKEN)

    def agent(self, name: str = "state", **env: str) -> AgentProcess:
        agent = AgentProcess(self.url, self.directory / name, self.catalogue, self._env | env)
        self.agents.append(agent)
        return agent


@contextlib.contextmanager
def ground_at(directory: Path) -> Iterator[Ground]:
    service = ScriptedService()
    with Listener(service) as listener:
        ground = Ground(directory, service, listener.url)
        try:
            yield ground
        finally:
            for agent in ground.agents:
                agent.stop()


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_at(tmp_path) as made:
        yield made


@pytest.fixture
def service(ground: Ground) -> ScriptedService:
    return ground.service


@pytest.fixture
def agent(ground: Ground) -> AgentProcess:
    return ground.agent().start()


def attempt(code: str = FOREVER, **changes: object) -> DesiredAttempt:
    """An attempt of a Python program on GPU 0, with anything changed."""
    facts: dict[str, object] = {
        "attempt_id": 7,
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
