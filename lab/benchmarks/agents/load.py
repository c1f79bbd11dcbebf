"""Emulated agents in processes of their own, while a block lasts, and what they measured."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psutil

from lab.benchmarks.agents.fleet import Fleet

# Sockets of one process: two per agent, and a soft limit of 20,000 files is not rare.
AGENTS_PER_PROCESS = 5000


class LoadSpan(NamedTuple):
    from_s: float
    until_s: float

    def __contains__(self, at_s: object) -> bool:
        return isinstance(at_s, float) and self.from_s <= at_s <= self.until_s


@dataclass
class Load:
    """Filled when the block ends."""

    parts: list[dict[str, Any]] = field(default_factory=list)

    def rows(self, kind: str) -> list[list[Any]]:
        return [row for part in self.parts for row in part[kind]]

    def sync_ms(self, span: LoadSpan) -> list[float]:
        return sorted(ms for at_s, ms in self.rows("sync_ms") if at_s in span)

    def answers_not_200(self, span: LoadSpan) -> int:
        told = (text for at_s, text in self.rows("answers") if at_s in span)
        return sum(not text.endswith(" 200") for text in told)

    @property
    def started(self) -> dict[int, float]:
        """By job, when its agent was told of it."""
        return {job_id: at_s for at_s, job_id in sorted(self.rows("started"), reverse=True)}


@contextmanager
def emulated(
    url: str, fleet: Fleet, *, spread_s: float = 5.0, telemetry: bool = True
) -> Iterator[Load]:
    load, processes = Load(), []
    for first in range(0, len(fleet.agents), AGENTS_PER_PROCESS):
        agents = fleet.agents[first : first + AGENTS_PER_PROCESS]
        asked = {"url": url, "agents": agents, "seed": first, "spread_s": spread_s,
                 "telemetry": telemetry}  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.benchmarks.agents.emulated"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        processes.append(process)
    try:
        yield load
    finally:
        for process in processes:
            load.parts.append(json.loads(process.communicate()[0]))


def door_cpu_s() -> float:
    """Of the door's processes, which this one has started."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        if "scheduler_service.asgi:application" in process.cmdline():
            times = process.cpu_times()
            used += times.user + times.system
    return used
