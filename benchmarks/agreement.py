"""How well the simulator foretells the service: emulated nodes and a run from the same start."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from benchmarks.figures import figure
from benchmarks.service import database
from scheduler_service.embedded import broker
from scheduler_service.embedded.ports import free_port
from scheduler_service.embedded.program import Program, running
from tests.live.server import Servers, api_server

ROOT = Path(__file__).resolve().parent.parent
CASE = "4x8/20"
BAR_PCT = 5.0
# GPUs and seconds of every job: several waves on the demo's 32 GPUs, with gangs over two nodes, run
# times between 20 and 58 s that no two jobs share.
GANGS = (16, 8, 4, 4, 2, 8, 1, 4, 2, 1)
WORKLOAD = [(GANGS[at % len(GANGS)], 20 + 2 * (7 * at % 20)) for at in range(20)]
# Run before, so that the cluster's history tells how long the way to a node and back is.
WARM_UP = [(16, 10), (8, 10), (4, 10), (2, 10), (1, 10), (1, 10)]
LONGEST_S = 420.0


class Done(NamedTuple):
    """Of one job: (node, GPU mask) pairs, seconds until its end, and joules of its GPUs."""

    where: tuple[tuple[int, int], ...]
    jct_s: float
    gpu_j: float


def main() -> None:
    with database() as url, service(url) as (address, directory):
        from benchmarks import agreement_world as world  # noqa: PLC0415  # needs Django set up

        agents = world.seed(directory / "demo.json", address)
        with ExitStack() as stack:
            for agent in agents:
                stack.enter_context(running(_agent(agent, address, directory), directory / "agent"))
            _until(world.all_ready, "nodes are ready")
            world.submit(WARM_UP)
            _until(world.step, "the first jobs have ended")
            latency = world.latency()
            snapshot = world.submit(WORKLOAD)
            _until(world.step, "jobs have ended")
            sleep(3)
            foretold = world.foretold(snapshot, latency)
            report({job: done for job, done in world.lived().items() if job in foretold}, foretold)


def report(lived: Mapping[int, Done], foretold: Mapping[int, Done]) -> None:
    alike = sum(lived[job].where == foretold[job].where for job in lived)
    figure("agreement", CASE, "placements", 100 * alike / len(lived), "%", at_least=100)
    for metric, name in (("mean_jct", "jct_s"), ("energy", "gpu_j")):
        ours = sum(getattr(done, name) for done in lived.values())
        theirs = sum(getattr(done, name) for done in foretold.values())
        off_pct = 100 * abs(ours - theirs) / ours
        figure("agreement", CASE, f"{metric}_off", off_pct, "%", at_most=BAR_PCT)


@contextmanager
def service(url: str) -> Iterator[tuple[str, Path]]:
    with tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp") as name:
        directory = Path(name)
        with (
            broker.prepared(directory / "broker", port=free_port(), durable=False) as queue,
            running(queue.program, directory / "broker.log"),
            api_server(Servers(url, queue.url, directory)) as address,
        ):
            yield address, directory


def _agent(agent: dict[str, Any], address: str, directory: Path) -> Program:
    return Program(
        name=agent["name"],
        argv=(
            *(sys.executable, "-m", "agent", "--server", address),
            *("--name", agent["name"], "--address", "127.0.0.1"),
            *("--state-dir", str(directory / agent["name"])),
            *("--checkpoint-dir", str(directory / "checkpoints")),
            *("--devices", f"emulated:{ROOT}/examples/nodes/{agent['devices']}.toml"),
        ),
        cwd=ROOT,
        env={**os.environ, "FAIRWATT_JOIN_TOKEN": agent["join_token"]},
    )


def _until(holds: Any, what: str) -> None:
    ends_s = monotonic() + LONGEST_S
    while not holds():
        if monotonic() > ends_s:
            raise TimeoutError(f"waited {LONGEST_S:.0f} s until {what}")
        sleep(0.2)


if __name__ == "__main__":
    main()
