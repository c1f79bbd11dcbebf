"""Checks out one commit with git, as the tenant; standard library only."""

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

from agent.run.shim import takes_more

PR_SET_PDEATHSIG = 1
LONGEST_S = 1800.0
LOOK_S = 0.1
# Between two looks at the room that it takes, which grow longer with what there is to count.
ROOM_S = 1.0
PASSED_ON = ("PATH", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "GIT_SSL_CAINFO")
EVERYTHING = "+refs/*:refs/remotes/origin/*"

_libc = ctypes.CDLL(None)


class NoSuchCommitError(Exception):
    """The repository is there and the commit is not, or is too large: the fault of who named it."""


class GitError(Exception):
    """The repository could not be reached from this node, or git is not here."""


def checkout(url: str, commit: str, *, most_bytes: int) -> None:
    """Into the current directory; its history stays behind where the server allows it."""
    if shutil.which("git") is None:
        raise GitError("git is not installed on this node")
    git = _Git(most_bytes, time.monotonic() + LONGEST_S)
    git.run("init", "--quiet", ".")
    alone = git.tried("fetch", "--quiet", "--depth", "1", "--no-tags", url, commit)
    # Some servers give no single commit, and some no part of a history.
    if alone and (said := git.tried("fetch", "--quiet", "--no-tags", url, EVERYTHING)):
        raise GitError(f"{url} cannot be fetched: {said}")
    if git.tried("cat-file", "-e", f"{commit}^{{commit}}"):
        raise NoSuchCommitError(f"{url} has no commit {commit}")
    git.run("checkout", "--quiet", "--detach", commit)


class _Git:
    def __init__(self, most_bytes: int, deadline_s: float) -> None:
        self._most_bytes, self._deadline_s = most_bytes, deadline_s

    def run(self, *arguments: str) -> None:
        if said := self.tried(*arguments):
            raise GitError(f"git {arguments[0]}: {said}")

    def tried(self, *arguments: str) -> str:
        """What git complained about last; empty if it did what it was asked."""
        with subprocess.Popen(  # noqa: S603 - no shell; url and commit have been looked at
            ["git", "-c", "protocol.file.allow=never", *arguments],  # noqa: S607 - of the node
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - there are no threads here
        ) as process:
            assert process.stderr is not None  # noqa: S101 - PIPE was asked for
            os.set_blocking(process.stderr.fileno(), False)
            try:
                said = self._watched(process)
            except BaseException:
                process.kill()
                raise
        return "" if process.returncode == 0 else said or f"git ended with {process.returncode}"

    def _watched(self, process: subprocess.Popen[bytes]) -> str:
        said, look_s = b"", 0.0
        assert process.stderr is not None  # noqa: S101 - PIPE was asked for
        while process.poll() is None:
            said = (said + (process.stderr.read() or b""))[-4096:]
            if time.monotonic() > self._deadline_s:
                raise GitError(f"git took longer than {LONGEST_S:.0f} s")
            if time.monotonic() >= look_s:
                begun_s = time.monotonic()
                self._look_at_room()
                look_s = time.monotonic() + ROOM_S + 10 * (time.monotonic() - begun_s)
            time.sleep(LOOK_S)
        return _last_line(said + (process.stderr.read() or b""))

    def _look_at_room(self) -> None:
        if takes_more(["."], self._most_bytes):
            raise NoSuchCommitError(f"the repository takes more than {self._most_bytes >> 20} MiB")


def _last_line(said: bytes) -> str:
    lines: Sequence[str] = said.decode(errors="replace").replace("\0", "").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def _environment() -> dict[str, str]:
    """Nobody's settings, no questions, and no protocol but HTTP."""
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed_on | {
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "http:https",
    }


def _die_with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
