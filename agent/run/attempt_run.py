"""One attempt on this node: its directory, its shim, and what both say about it."""

import contextlib
import json
import resource
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.measure.progress import Progress
from agent.measure.sampler import LatestReading
from agent.measure.speed import Speedometer
from agent.remember.disk import write_in_place
from agent.remember.files import read_json, write_whole
from agent.run import container, processes
from agent.run.environment import ranks_of
from agent.run.processes import Process
from agent.run.shim import EXIT_FILE
from agent.wire import AttemptEnergy, DesiredAttempt, Fetched, Fetching, State

# A shim that does not end this long after its processes should be dead is itself killed.
OVERDUE_S = 10.0
KILL_FILE = "kill.json"
TOLD_BYTES = 8  # a number that the job reads


@dataclass(slots=True)
class AttemptRun:
    attempt: DesiredAttempt
    directory: Path
    cpus: frozenset[int]
    held_s: float
    energy_start_mj: dict[str, int]
    progress: Progress
    child: Process | None = None  # started by this agent, perhaps not yet with the claim
    shim: Process | None = None
    preparing: bool = False  # its working directory is not whole yet
    draft: Path | None = None  # the folder that becomes the working directory
    waits_for: str = ""
    brought: Fetching | None = None  # how far its working directory is
    pulls: bool = False  # started by this agent with a tool that tells when its image is there
    unlaunched: bool = False  # taken up from an earlier agent, without the values it starts with
    stop_reason: str = ""
    kill_at_s: float | None = None
    pinned: frozenset[int] = field(default_factory=frozenset)
    speedometer: Speedometer = field(default_factory=Speedometer)

    @property
    def work(self) -> Path:
        return self.directory / "work"

    @property
    def state(self) -> State:
        if self.kill_at_s is not None:
            return State.STOPPING
        return State.STARTING if self.shim is None else State.RUNNING

    @property
    def fetching(self) -> Fetching | None:
        """A container has its id once its image is there."""
        if self.preparing:
            return self.brought
        pulling = self.pulls and self.state is State.RUNNING
        return Fetching(Fetched.IMAGE) if pulling and not container.ids(self.directory) else None

    def find_shim(self) -> None:
        """The shim that took the claim runs the attempt, whichever agent started it."""
        if self.shim is None and (claim := read_json(self.directory / "claim")):
            self.shim = Process(claim["pid"], claim["start_ticks"])

    @property
    def exit_record(self) -> dict[str, Any] | None:
        record: dict[str, Any] | None = read_json(self.directory / EXIT_FILE)
        return record

    @property
    def dead(self) -> bool:
        """No shim runs and none is on its way."""
        if self.shim is not None:
            return not self.shim.alive
        if (self.unlaunched or self.preparing) and self.kill_at_s is None:
            return False
        return self.child is None or not self.child.alive

    def stop(self, reason: str, grace_s: float, now_s: float) -> None:
        """Ask the shim to end it; asking again can only make the end come sooner."""
        kill_at_s = now_s + grace_s
        if self.kill_at_s is not None and self.kill_at_s <= kill_at_s:
            return
        self.stop_reason = self.stop_reason or reason
        self.kill_at_s = kill_at_s
        document = json.dumps({"grace_s": grace_s}).encode()
        with contextlib.suppress(OSError):  # a full disk: the grace is then the attempt's own
            write_whole(self.directory / "stop.json", document, durable=False)
        self._signal(signal.SIGTERM)

    def enforce(self, now_s: float) -> None:
        """The last resort, for a shim that is stuck."""
        if self.kill_at_s is not None and now_s > self.kill_at_s + OVERDUE_S:
            for pid in processes.tree(self.shim.pid) if self.shim and self.shim.alive else ():
                if (ticks := processes.start_ticks(pid)) is not None:
                    Process(pid, ticks).send(signal.SIGKILL)

    def sweep(self) -> None:
        """After a shim died without a word: nothing of the attempt may live on."""
        for pid in processes.holding(f"FAIRWATT_PROGRESS={self.directory / 'progress.jsonl'}"):
            if (ticks := processes.start_ticks(pid)) is not None:
                Process(pid, ticks).send(signal.SIGKILL)
        if kill_argv := read_json(self.directory / KILL_FILE):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(  # noqa: S603 - written by this agent
                    kill_argv, capture_output=True, check=False, timeout=10
                )

    def energy(
        self, now_mj: Mapping[str, int], latest: Mapping[str, LatestReading]
    ) -> tuple[AttemptEnergy, ...]:
        """Of every GPU whose counter is known now and was known at the start."""
        return tuple(
            AttemptEnergy(uuid, start_mj, max(start_mj, now_mj[uuid]), latest[uuid].method)
            for uuid, start_mj in self.energy_start_mj.items()
            if uuid in now_mj
        )

    def pids(self) -> frozenset[int]:
        return processes.tree(self.shim.pid) if self.shim and self.shim.alive else frozenset()

    def pin(self, cpus: frozenset[int]) -> None:
        """Move what runs; the shim itself stays where it is. Asked again until all have begun."""
        if self.shim is None or cpus == self.pinned:
            return
        begun = self.pids() - {self.shim.pid}
        processes.pin(begun, cpus)
        if len(begun) >= len(ranks_of(self.attempt)):
            self.pinned = cpus

    def allow_memory(self) -> None:
        """Where each process has its own limit, raise it; a lower one waits for the next attempt.

        Cached files do not count towards it, so that lowering it would free nothing.
        """
        if self.shim is not None:
            limit = self.attempt.memory_mib << 20 or resource.RLIM_INFINITY
            processes.allow_data(self.pids() - {self.shim.pid}, limit)

    def write_cpus(self) -> None:
        """Written over, not replaced: a sandbox shows this very file."""
        self._tell("cpus", len(self.cpus))

    def write_clock(self, clock_mhz: int | None) -> None:
        """0: not locked. On an emulated GPU it is all that a program can go by."""
        self._tell("clock", clock_mhz or 0)

    def _tell(self, name: str, number: int) -> None:
        write_in_place(self.directory / name, f"{number:<{TOLD_BYTES - 1}}\n".encode(), TOLD_BYTES)

    def complaint(self) -> str:
        with contextlib.suppress(OSError):
            return (self.directory / "shim.log").read_text(errors="replace").strip()[-500:]
        return ""

    def _signal(self, number: signal.Signals) -> None:
        if self.shim is not None:
            self.shim.send(number)
        elif self.child is not None:
            # Before its handlers stand a shim just dies, and its attempt has not begun.
            self.child.send(number)
