"""A service with agents of emulated nodes, for the length of a benchmark."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from scheduler_service.embedded import broker
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import Program, running
from tests.live.server import Servers, api_server

ROOT = Path(__file__).resolve().parent.parent


class Emulated(NamedTuple):
    """A node to be: `devices` is the file that describes its GPUs and host."""

    name: str
    join_token: str
    devices: Path


@contextmanager
def service(url: str) -> Iterator[tuple[str, Path]]:
    """The API over a database: its address, and a directory for whatever runs with it."""
    with tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp") as name:
        directory = Path(name)
        with (
            broker.prepared(directory / "broker", port=free_port(), durable=False) as queue,
            running(queue.program, directory / "broker.log"),
            api_server(Servers(url, queue.url, directory)) as address,
        ):
            yield address, directory


@contextmanager
def agents(nodes: Iterable[Emulated], address: str, directory: Path) -> Iterator[None]:
    """An agent's program per node, which keeps its state in the directory under the node's name."""
    with ExitStack() as stack:
        for node in nodes:
            program = _program(node, address, directory)
            stack.enter_context(running(program, directory / f"{node.name}.log"))
        yield


def _program(node: Emulated, address: str, directory: Path) -> Program:
    return Program(
        name=node.name,
        argv=(
            *(sys.executable, "-m", "agent", "--server", address),
            *("--name", node.name, "--address", "127.0.0.1"),
            *("--state-dir", str(directory / node.name)),
            *("--checkpoint-dir", str(directory / "checkpoints")),
            *("--devices", f"emulated:{node.devices}"),
        ),
        cwd=ROOT,
        env={**os.environ, "FAIRWATT_JOIN_TOKEN": node.join_token},
    )
