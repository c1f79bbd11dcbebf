"""Starts shims: asks the server that forks them, and starts that one when it is needed."""

import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import agent
from agent.run.processes import Process, start_ticks
from agent.run.shim_server import FILE_TASK, SHIM

ANSWER_S = 10.0
# Neither site packages nor the agent's own imports: what the server has, every shim has.
CODE = "import sys; sys.path.insert(0, sys.argv[1]); " + (
    "from agent.run.shim_server import main; main(int(sys.argv[2]))"
)
ROOT = Path(agent.__file__).parents[1]
GONE = -1  # no process began at this tick


@dataclass(slots=True)
class Shims:
    _server: subprocess.Popen[bytes] | None = None
    _link: socket.socket | None = field(default=None, repr=False)

    def start(self, directory: Path) -> Process:
        """Twice, if the server was killed: of two shims only one can take the claim."""
        return self._asked(SHIM, directory)

    def start_file_task(self, directory: Path) -> Process:
        """What it is to do lies in the directory; a server that was killed took its tasks along."""
        return self._asked(FILE_TASK, directory)

    def _asked(self, kind: bytes, directory: Path) -> Process:
        try:
            return self._ask(kind, directory)
        except (ConnectionError, TimeoutError):
            self.close()
            return self._ask(kind, directory)

    def close(self) -> None:
        """The server ends; its shims do not."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._server is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(1.0)
            self._server.kill()
            self._server.wait()
            self._server = None

    def _ask(self, kind: bytes, directory: Path) -> Process:
        link = self._link or self._open()
        link.send(kind + os.fsencode(directory))
        answer = link.recv(256).decode()
        if not answer:
            raise ConnectionResetError("the server of shims is gone")
        pid, _, trouble = answer.partition(" ")
        if trouble:
            raise OSError(f"no process could be started: {trouble}")
        ticks = start_ticks(int(pid))
        return Process(int(pid), GONE if ticks is None else ticks)

    def _open(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_S)
        with theirs:
            self._server = subprocess.Popen(  # noqa: S603 - our own server
                [sys.executable, "-I", "-S", "-c", CODE, str(ROOT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd="/",
            )
        self._link = ours
        return ours
