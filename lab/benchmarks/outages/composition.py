"""Two of everything on one machine, each of which can be killed and started again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lab.benchmarks.harness.service import ROOT, BenchmarkService, servers
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, spawn, stop, wait_ready
from scheduler_service.embedded.stack import Site, services
from tests.live.server import Servers

CONTROL = ("worker", "whatif", "beat", "ticker", "api")
TWICE = ("worker", "beat", "ticker")
SECOND = "-2"


class Composition:
    """The control plane's programs by name; those of TWICE also with SECOND behind it."""

    def __init__(self, stand: Servers) -> None:
        self.var = stand.directory
        self._site = self._site_of(stand)
        programs = {program.name: program for program in services(self._site)}
        twins = {name + SECOND: _twin(programs[name], self.var) for name in TWICE}
        self._programs = {**programs, **twins}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def service(self) -> BenchmarkService:
        return BenchmarkService(self._site.url, self.var)

    def start(self, *names: str) -> None:
        for name in names:
            program = self._programs[name]
            with (self.var / f"{name}.log").open("ab") as output:
                self._running[name] = spawn(program, output)
        for name in names:
            wait_ready(self._programs[name], self._running[name])

    def start_all(self) -> None:
        self.start(*self._programs)

    def kill(self, *names: str) -> None:
        """-9, with whatever else is in their process groups."""
        for name in names:
            process = self._running.pop(name)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def kill_all(self) -> None:
        self.kill(*self._running)

    def close(self) -> None:
        for name in list(self._running):
            stop(self._programs[name], self._running.pop(name))

    def _site_of(self, stand: Servers) -> Site:
        env = {**os.environ, "DATABASE_URL": stand.database_url, "BROKER_URL": stand.broker_url,
               "CACHE_URL": stand.broker_url, "FAIRWATT_VAR": str(self.var)}  # fmt: skip
        (self.var / "demo.json").write_text(json.dumps({"agents": []}))
        (self.var / "static").mkdir(exist_ok=True)
        return Site(
            ROOT, self.var, LOOPBACK, free_port(), free_port(), env, lock=sys.stderr.fileno()
        )


def _twin(program: Program, var: Path) -> Program:
    """The same once more, under a name of its own where it needs one."""
    argv = tuple(part.replace("beat-schedule", "beat-schedule-2") for part in program.argv)
    if program.name == "worker":
        argv = (*argv, "--hostname", "second@%h")
    return replace(program, name=program.name + SECOND, argv=argv)


@contextmanager
def composition(database_url: str) -> Iterator[Composition]:
    with servers(database_url) as stand:
        made = Composition(stand)
        made.start_all()
        try:
            yield made
        finally:
            made.close()
