"""What the tests of real processes share: waiting for a fact, and looking for the living."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PATIENCE_S = 30.0


def eventually(fact: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Poll for a fact; the patience only bounds a failed test, it measures nothing."""
    deadline_s = time.monotonic() + patience_s
    while not fact():
        assert time.monotonic() < deadline_s, f"not within {patience_s} s: {what}"
        time.sleep(0.02)


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; psutil compares start times, so a reused pid does not count."""
    return [each for each in processes if each.is_running() and each.status() != "zombie"]


def all_end(processes: list[psutil.Process], patience_s: float = PATIENCE_S) -> None:
    """None is left, or the failure names those that are."""
    _, left = psutil.wait_procs(processes, timeout=patience_s)
    told = [(each.pid, each.ppid(), each.status(), each.cmdline()[:8]) for each in alive(left)]
    assert not told


@contextmanager
def script(code: str, *arguments: str | Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Python code in a process of its own, killed at the end if it is still there."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
