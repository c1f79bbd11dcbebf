"""One child process: how it is started, when it is ready, and how it ends with its parent."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.orphans import PR_SET_PDEATHSIG

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """The unprivileged user that a server runs as when we are root."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Program:
    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    account: Account | None = None
    ready: Callable[[int], bool] = lambda pid: True
    stop_signal: signal.Signals = signal.SIGTERM
    stop_grace_s: float = 10.0
    # Asked to stop at once with its neighbours: neither needs the other while it leaves.
    stops_together: bool = False
    # What the kernel sends when our process is gone, however it went.
    orphan_signal: signal.Signals = signal.SIGTERM
    inherit: tuple[int, ...] = ()


def spawn(program: Program, output: int | IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start in a process group of its own, so that a terminal's Ctrl-C reaches only us.

    Call it from the main thread: the kernel ties the orphan signal to the thread that forked.
    """
    account = program.account
    return subprocess.Popen(  # noqa: S603 - argv is ours, never a shell string
        program.argv,
        cwd=program.cwd,
        env=dict(program.env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output is not None else None,
        process_group=0,
        pass_fds=program.inherit,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        # After the change of user, which would clear it.
        preexec_fn=_tie_to_parent(program.orphan_signal),  # noqa: PLW1509 - we run no threads
    )


def _tie_to_parent(orphan_signal: signal.Signals) -> Callable[[], None]:
    parent = os.getpid()

    def tie() -> None:
        # A shell has its background jobs ignore these, and so would their children.
        for ignored in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(ignored, signal.SIG_DFL)
        _libc.prctl(PR_SET_PDEATHSIG, int(orphan_signal))
        if os.getppid() != parent:
            os._exit(1)

    return tie


def wait_ready(
    program: Program, process: subprocess.Popen[bytes], *, patience_s: float = 60.0
) -> None:
    deadline = time.monotonic() + patience_s
    while not program.ready(process.pid):
        if process.poll() is not None:
            raise EmbeddedError(f"{program.name} ended with code {process.returncode} at its start")
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{program.name} is not ready after {patience_s:.0f} s")
        time.sleep(0.02)


def stop(program: Program, process: subprocess.Popen[bytes]) -> None:
    """Ask, wait, then insist; nothing of the program's process group is left behind."""
    if process.poll() is None:
        process.send_signal(program.stop_signal)
        try:
            process.wait(program.stop_grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def running(
    program: Program, log: Path, *, patience_s: float = 60.0
) -> Iterator[subprocess.Popen[bytes]]:
    """The program for the length of a block, without a supervisor; its output goes to `log`."""
    with log.open("ab") as output:
        process = spawn(program, output)
    try:
        try:
            wait_ready(program, process, patience_s=patience_s)
        except EmbeddedError as error:
            raise EmbeddedError(f"{error}:\n{log.read_text(errors='replace')[-2000:]}") from None
        yield process
    finally:
        stop(program, process)
