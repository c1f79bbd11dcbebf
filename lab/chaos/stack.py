"""The stack under fire, seen from outside: its programs by name and pid, its files, its address."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil

from lab.chaos.history import read_lines
from lab.chaos.launch import ROOT
from lab.chaos.proxy import Address, Proxies, Proxy
from scheduler_service.embedded.ports import LOOPBACK, free_port, is_free

NODES = ("node-1", "node-2", "node-3", "node-4")  # of the demo that `make up` starts with
RUN_LEASE_S = 30.0
# Short enough that a node can be lost and found again within the campaign.
LEASES = {
    "NODE_LEASE_S": "6",
    "RUN_LEASE_S": str(RUN_LEASE_S),
    "RUN_MARGIN_S": "4",
    "LOG_LEVEL": "WARNING",
    "BOUND_INTERVAL_S": "0",
}
_OF_ANOTHER = ("DATABASE_URL", "BROKER_URL", "CACHE_URL", "PYTHONPATH")
START_S = 600.0


class StackError(Exception):
    """The stack does not come up."""


class Stack:
    """Started by `start`; `home` keeps its data, logs, pids and crash points."""

    def __init__(self, home: Path, proxies: Proxies) -> None:
        self.home, self.var = home, home / "var"
        self.crash = home / "crash"
        self.port = free_port()
        self.clients = proxies.open(lambda: (LOOPBACK, self.port))
        self.agents: dict[str, Proxy] = {
            name: proxies.open(lambda name=name: self._server_of(name))  # type: ignore[misc]
            for name in NODES
        }
        self._up: subprocess.Popen[bytes] | None = None
        self.started_in_s = 0.0

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """From one thread only: the launcher ends with the thread that started it."""
        while not is_free(self.port):
            time.sleep(0.05)
        (self.crash / "reached").mkdir(parents=True, exist_ok=True)
        with (self.home / "up.log").open("ab") as log:
            self._up = subprocess.Popen(
                [sys.executable, "-m", "lab.chaos.launch"],
                cwd=ROOT, env=self._env(), stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait(self, longest_s: float = START_S) -> None:
        """Until it answers; a launcher that ended, as its port was still taken, is started anew."""
        begun_s = time.monotonic()
        deadline_s = begun_s + longest_s
        while not self.answers():
            if time.monotonic() > deadline_s:
                raise StackError(f"not up after {longest_s:.0f} s; see {self.home / 'up.log'}")
            self.revive()
            time.sleep(0.2)
        self.started_in_s = time.monotonic() - begun_s

    def revive(self) -> None:
        if self._up is None or self._up.poll() is not None:
            self.start()

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End all of it and wait; killed, its programs end by the kernel's word."""
        if self._up is None:
            return
        self._up.send_signal(number)
        self._up.wait()

    def pids(self) -> dict[str, int]:
        """Of the programs that live, by name; those that run to their end are not kept alive."""
        newest = {line["name"]: line for line in read_lines(self.home / "programs.jsonl")}
        return {
            name: line["pid"]
            for name, line in newest.items()
            if _alive(line["pid"], line["born_s"])
        }

    def environment(self, name: str) -> Mapping[str, str]:
        """What a program was started with: addresses and secrets of this stack."""
        return psutil.Process(self.pids()[name]).environ()

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.var / "demo.json").read_text())
        return found

    def shims(self) -> Iterator[tuple[int, int]]:
        """(attempt, pid) of every shim that lives, by the claims in the nodes' run directories."""
        for claim in self.var.glob("agents/*/runs/*/claim"):
            with suppress(OSError, ValueError):
                said = json.loads(claim.read_text())
                over = (claim.parent / "exit.json").exists()
                if not over and _ticks(said["pid"]) == said["start_ticks"]:
                    yield int(claim.parent.name.partition("-")[0]), said["pid"]

    def _server_of(self, name: str) -> Address:
        """Where the stack itself sends that agent: the API, or a door of the agents' own."""
        lines = [line for line in read_lines(self.home / "programs.jsonl") if line["name"] == name]
        there = urlsplit(lines[-1]["server"])
        return there.hostname or LOOPBACK, there.port or 80

    def _env(self) -> dict[str, str]:
        env = {key: value for key, value in os.environ.items() if key not in _OF_ANOTHER}
        return (
            env
            | LEASES
            | {
                "CHAOS_PARENT": str(os.getpid()),
                "FAIRWATT_VAR": str(self.var),
                "FAIRWATT_PORT": str(self.port),
                "FAIRWATT_CRASH_DIR": str(self.crash),
                "CHAOS_PROGRAMS": str(self.home / "programs.jsonl"),
                "CHAOS_PROXIES": json.dumps({name: each.url for name, each in self.agents.items()}),
            }
        )


def _alive(pid: int, born_s: float) -> bool:
    """That very process: its number may by now be another's, who must not be hurt."""
    with suppress(psutil.Error):
        found = psutil.Process(pid)
        return found.create_time() == born_s and found.status() != psutil.STATUS_ZOMBIE
    return False


def _ticks(pid: int) -> int:
    """When it was started, as the claim says it too."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
