"""Processes named by pid and start time, so that a pid used again is never mistaken."""

import contextlib
import os
import resource
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        return start_ticks(self.pid) == self.start_ticks

    def send(self, number: signal.Signals) -> None:
        """Signal this very process: the pidfd is opened before its identity is looked at."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(self.pid)
            try:
                if self.alive:
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)


def start_ticks(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; None if it is gone or a zombie."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def tree(root: int) -> frozenset[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        if fields := _stat(pid):
            children.setdefault(int(fields[1]), []).append(pid)
    found, waiting = set[int](), [root]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return frozenset(found)


def pin(pids: Iterable[int], cpus: frozenset[int]) -> None:
    """Move every thread of the processes to these CPUs, twice: a thread may just be starting."""
    for _ in range(2):
        for pid in pids:
            for thread in _threads(pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.sched_setaffinity(thread, cpus)


def allow_data(pids: Iterable[int], limit: int) -> None:
    """Raise how much memory each process may have; never lower it below what it counts on."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            now, _ = resource.prlimit(pid, resource.RLIMIT_DATA)
            if now != resource.RLIM_INFINITY and (limit > now or limit < 0):
                resource.prlimit(pid, resource.RLIMIT_DATA, (limit, limit))


def holding(variable: str) -> frozenset[int]:
    """Processes started with `NAME=value` in their environment, whoever their parent is now."""
    wanted = variable.encode()
    found = set()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    return frozenset(found)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _threads(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    return []


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on; the name before it may hold anything."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return None
