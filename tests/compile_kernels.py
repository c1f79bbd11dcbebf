"""Compile the policies' kernels once for all workers: in a new clone nothing is kept yet."""

import subprocess
import sys
from subprocess import Popen

import pytest

from policies.registry import build

_compiling: list[Popen[bytes]] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Beside the workers' first tests, which need no kernel; who comes too early compiles too."""
    controls_workers = getattr(session.config.option, "numprocesses", None)
    if controls_workers and not hasattr(session.config, "workerinput"):
        _compiling.append(subprocess.Popen((sys.executable, "-m", "tests.compile_kernels")))


def pytest_sessionfinish() -> None:
    for process in _compiling:
        process.kill()
        process.wait()


def compile_all() -> None:
    from tests.policies.random_worlds import elastic_world  # noqa: PLC0415

    snapshot = elastic_world(1, nodes=6, queue=10, run=8).snapshot()
    for name in ("fairwatt", "andreas"):
        build(name, {}).plan(snapshot)


if __name__ == "__main__":
    compile_all()
