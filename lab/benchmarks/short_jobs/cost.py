"""What many short jobs cost: seconds on the wall, and CPU of all processes that they needed."""

import contextlib
import ctypes
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic

import psutil

# What a part's processes have in their command lines; the first that fits.
PARTS = {
    "agents": "-m agent",
    "shims": "agent.run.shim_server",
    "api": "granian",
    "workers": "celery",
    "postgres": "postgres",
    "broker": "valkey",
    "controller": "slurmctld",
    "nodes": "slurmd",
    "munge": "munged",
}
CLIENT = "client"
# Slurm's process per job leaves its parent, and would be counted by nobody; ours do not.
STEPS = "slurmstepd"
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Cost:
    jobs: int
    wall_s: float
    parts_s: dict[str, float]
    """CPU by part, those that have ended under them included."""
    starts_s: tuple[float, ...] = field(default=())
    """Ascending; from submit to start of jobs that found a free GPU."""

    @property
    def cpu_s(self) -> float:
        return sum(self.parts_s.values())


def cost_of(jobs: int, work: Callable[[], object]) -> Cost:
    steps_s()
    begun_s, before = monotonic(), _cpu_s()
    work()
    wall_s, after = monotonic() - begun_s, _cpu_s()
    parts_s = {part: after[part] - before[part] for part in after}
    return Cost(jobs, wall_s, parts_s | {"steps": ended_s} if (ended_s := steps_s()) else parts_s)


def inherit_steps() -> None:
    """From now on processes that leave their parents become children of this one."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def steps_s() -> float:
    """CPU of inherited processes that have ended since last asked."""
    taken_s = 0.0
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name() == STEPS and process.status() == psutil.STATUS_ZOMBIE:
                used = os.wait4(process.pid, 0)[2]
                taken_s += used.ru_utime + used.ru_stime
    return taken_s


def _cpu_s() -> dict[str, float]:
    """Of this process, which submits, and of its descendants."""
    taken: dict[str, float] = defaultdict(float)
    taken[CLIENT] = sum(os.times()[:4])
    for part, process in _servers():
        with contextlib.suppress(psutil.NoSuchProcess):
            taken[part] += sum(process.cpu_times()[:4])
    return taken


def _servers() -> Iterator[tuple[str, psutil.Process]]:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = " ".join(process.cmdline())
            yield next((part for part, mark in PARTS.items() if mark in line), "other"), process
