"""Forks shims from one warm interpreter: starting Python anew would cost each attempt 40 ms.

Asked over a socket by the agent: what to run and a run directory in, the pid of its process out.
When the agent is gone it ends; the shims live on, tasks on files do not. Nothing but the standard
library is imported here.
"""

import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from pathlib import Path

from agent.files import file_task
from agent.run import shim

PR_SET_NAME = 15
SHIM, FILE_TASK = b"S", b"F"
PROGRAMS = {
    SHIM: (b"fairwatt-shim", "shim.log", shim.main),
    FILE_TASK: (b"fairwatt-files", file_task.LOG_FILE, file_task.main),
}
LONGEST_PATH = 8192


class ShimServer:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._ready = selectors.DefaultSelector()
        self._ready.register(requests, selectors.EVENT_READ)
        self._ready.register(self._woken, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until the agent hangs up."""
        # What is alive now is never garbage: shims that do not touch it share its memory.
        gc.freeze()
        while True:
            for key, _ in self._ready.select():
                if key.fd == self._woken:
                    os.read(self._woken, 64)
                    _reap()
                elif request := self._requests.recv(LONGEST_PATH):
                    self._answer(request[:1], Path(os.fsdecode(request[1:])))
                else:
                    return

    def _answer(self, kind: bytes, run: Path) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            self._requests.send(f"0 {error.strerror}".encode())
            return
        if pid == 0:
            self._become(kind, run)
        self._requests.send(str(pid).encode())

    def _become(self, kind: bytes, run: Path) -> None:
        """Never returns."""
        try:
            name, log, main = PROGRAMS[kind]
            signal.set_wakeup_fd(-1)
            self._ready.close()
            self._requests.close()
            os.close(self._woken)
            os.close(self._wake)
            os.setsid()
            ctypes.CDLL(None).prctl(PR_SET_NAME, name)
            _print_to(run / log)
            main(run)
        except BaseException:  # noqa: BLE001 - the agent reads it in the log
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)


def _print_to(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def main(descriptor: int) -> None:
    ShimServer(socket.socket(fileno=descriptor)).serve()
