"""Starts programs in order, restarts what dies, and stops all in reverse order.

Neighbours that say so are stopped together.
"""

import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from types import FrameType, TracebackType
from typing import Any, Self

from scheduler_service.embedded.console import Console, Lines
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import Program, kill_group, spawn

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 30.0
# A program that lived this long was healthy: its next death is a new story.
HEALTHY_AFTER_S = 60.0
# Longest sleep between looks at readiness; signals and output wake us earlier.
LOOK_S = 0.05
IDLE_S = 1.0
CHUNK_BYTES = 1024 * 1024


class Stopped(Exception):
    """Not an error: somebody asked us to stop while something was being started."""


def backoff_s(deaths: int) -> float:
    """How long to wait before the start after this many deaths in a row."""
    # The exponent is bounded, because 2.0 to a large power is an error.
    return min(BACKOFF_FIRST_S * 2.0 ** min(deaths - 1, 30), BACKOFF_MAX_S)


@dataclass
class _Child:
    program: Program
    process: subprocess.Popen[bytes]
    started_s: float
    lines: Lines = field(default_factory=Lines)
    deaths: int = 0
    due_s: float | None = None
    closed: bool = False


class ProgramSupervisor:
    """Use it as a context manager in the main thread; leaving the block stops every child."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._children: list[_Child] = []
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._handlers: dict[signal.Signals, Any] = {}
        self._stopping = False
        self._interrupts = 0

    def __enter__(self) -> Self:
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (*STOP_SIGNALS, signal.SIGCHLD):
            self._handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping = True
        for neighbours in _neighbours(self._children):
            for child in neighbours:
                self._ask(child)
            for child in neighbours:
                self._end(child)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        self._selector.close()
        self._wake.close()
        self._woken.close()

    def start(self, program: Program, *, patience_s: float = 60.0) -> None:
        """Start a program and return once it is ready; from then on it is kept alive."""
        child = self._launch(program)
        self._children.append(child)
        self._until(lambda: program.ready(child.process.pid), child, patience_s)

    def run(self, program: Program, *, patience_s: float = 600.0) -> None:
        """Run a program to its end, which must be a good one."""
        child = self._launch(program)
        self._children.append(child)
        self._until(lambda: child.process.poll() == 0, child, patience_s)
        self._children.remove(child)
        self._close(child)

    def watch(self) -> None:
        """Keep everything alive until a stop signal."""
        while not self._stopping:
            self._turn(IDLE_S)
            self._revive(time.monotonic())

    def _until(self, done: Callable[[], bool], child: _Child, patience_s: float) -> None:
        name = child.program.name
        deadline_s = time.monotonic() + patience_s
        while True:
            # Before `done`, so that a program which ends well between the two is not blamed.
            ended = child.process.poll() is not None
            if done():
                return
            if self._stopping:
                raise Stopped
            if ended:
                self._close(child)
                raise EmbeddedError(f"{name} {_ending(child.process)}; its last lines are above.")
            if time.monotonic() > deadline_s:
                raise EmbeddedError(f"{name} is not ready after {patience_s:.0f} s.")
            self._turn(LOOK_S)
            self._revive(time.monotonic(), but=child)

    def _launch(self, program: Program) -> _Child:
        process = spawn(program, subprocess.PIPE)
        child = _Child(program, process, time.monotonic())
        if process.stdout:
            os.set_blocking(process.stdout.fileno(), False)
            self._selector.register(process.stdout, selectors.EVENT_READ, child)
        return child

    def _revive(self, now_s: float, but: _Child | None = None) -> None:
        for index, child in enumerate(self._children):
            if child is but or child.process.poll() is None:
                continue
            if child.due_s is None:
                self._mourn(child, now_s)
            elif now_s >= child.due_s:
                fresh = self._launch(child.program)
                fresh.deaths = child.deaths
                self._children[index] = fresh

    def _mourn(self, child: _Child, now_s: float) -> None:
        healthy = now_s - child.started_s > HEALTHY_AFTER_S
        child.deaths = 1 if healthy else child.deaths + 1
        wait_s = backoff_s(child.deaths)
        child.due_s = now_s + wait_s
        self._close(child)
        self._console.line(
            child.program.name, f"{_ending(child.process)}; starting it again in {wait_s:g} s"
        )

    def _ask(self, child: _Child) -> None:
        if child.process.poll() is None:
            child.process.send_signal(child.program.stop_signal)

    def _end(self, child: _Child) -> None:
        """Wait; a second Ctrl-C, or the end of patience, kills."""
        process = child.process
        deadline_s = time.monotonic() + child.program.stop_grace_s
        while process.poll() is None:
            if self._interrupts > 1 or time.monotonic() > deadline_s:
                self._console.line(child.program.name, "is killed")
                process.kill()
                process.wait()
            self._turn(LOOK_S)
        self._close(child)

    def _close(self, child: _Child) -> None:
        """Show the last lines, and leave nobody behind in the child's process group."""
        if child.closed:
            return
        child.closed = True
        kill_group(child.process)
        self._show(child)

    def _detach(self, child: _Child) -> None:
        pipe = child.process.stdout
        if pipe and not pipe.closed:
            self._selector.unregister(pipe)
            pipe.close()

    def _turn(self, timeout_s: float) -> None:
        """Pass on what children wrote, until a signal, output or the time is up."""
        dues = [child.due_s for child in self._children if child.due_s is not None]
        if dues:
            timeout_s = max(0.0, min(timeout_s, min(dues) - time.monotonic()))
        for key, _ in self._selector.select(timeout_s):
            if key.data is None:
                self._woken.recv(4096)
            else:
                self._show(key.data)

    def _show(self, child: _Child) -> None:
        pipe = child.process.stdout
        chunk = pipe.read(CHUNK_BYTES) if pipe and not pipe.closed else b""
        lines = child.lines.feed(chunk) if chunk else []
        if child.closed or chunk == b"":
            lines += child.lines.close()
            self._detach(child)
        for line in lines:
            self._console.line(child.program.name, line)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number in STOP_SIGNALS:
            self._stopping = True
        if number == signal.SIGINT:
            self._interrupts += 1


def _neighbours(children: list[_Child]) -> Iterator[list[_Child]]:
    """Who is asked to stop at once: the last started first, each alone unless it says otherwise."""
    for together, few in groupby(reversed(children), key=lambda c: c.program.stops_together):
        found = list(few)
        yield from [found] if together else ([child] for child in found)


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with code {code}"
