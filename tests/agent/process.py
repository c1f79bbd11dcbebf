"""A real agent in a process of its own, on a node with two emulated GPUs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil

from agent.devices.emulated import NAMESPACE
from agent.run.processes import start_ticks

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
ROOT = Path(__file__).parents[2]


def gpu_uuid(index: int, node: str = NODE) -> str:
    return f"GPU-{uuid.uuid5(NAMESPACE, f'{node}/{index}')}"


def alive(pid: int) -> bool:
    """A zombie waits for its parent, which may take its time; it runs no more."""
    return start_ticks(pid) is not None


class AgentProcess:
    """One `python -m agent`, its state directory, and what it leaves there."""

    def __init__(
        self, url: str, state: Path, catalogue: Path, env: dict[str, str], name: str = NODE
    ) -> None:
        self.state, self._url, self._catalogue, self._env = state, url, catalogue, env
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.log = state.with_name(state.name + ".agent.log")

    def start(self, *more: str) -> "AgentProcess":
        argv = [sys.executable, "-m", "agent", "--server", self._url, "--name", self.name]
        argv += ["--state-dir", str(self.state), "--devices", f"emulated:{self._catalogue}", *more]
        if not {"--run-as", "--tenant-uids"} & set(more):
            argv.append("--trust-tenants")
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

    def shim_pid(self, attempt_id: int) -> int:
        directory = self.run_dir(attempt_id)
        assert directory is not None
        return int(json.loads((directory / "claim").read_text())["pid"])

    def job_pids(self, attempt_id: int) -> set[int]:
        shim = psutil.Process(self.shim_pid(attempt_id))
        return {process.pid for process in shim.children(recursive=True)}

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
                claim = json.loads(path.read_text())
                shim = psutil.Process(claim["pid"])
                if start_ticks(shim.pid) == claim["start_ticks"]:
                    for process in [*shim.children(recursive=True), shim]:
                        with contextlib.suppress(psutil.NoSuchProcess):
                            process.kill()


def outside_environment(directory: Path, join_token: str) -> dict[str, str]:
    """For agents whose attempts are looked at from outside, as no sandbox would let us."""
    broken = directory / "bin" / "bwrap"
    broken.parent.mkdir(exist_ok=True)
    broken.write_text("#!/bin/sh\necho not allowed here >&2\nexit 1\n")
    broken.chmod(0o755)
    return os.environ | {
        "FAIRWATT_JOIN_TOKEN": join_token,
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
        "PATH": f"{broken.parent}:{os.environ['PATH']}",
    }
