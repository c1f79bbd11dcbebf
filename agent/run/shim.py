"""Runs one attempt's processes and keeps their exit code, whatever becomes of the agent.

Forked by `shim_server.py`, so that only the standard library is imported here. Reads spec.json;
SIGTERM means "stop within the grace in stop.json"; ends by writing exit.json.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agent.run.capped_log import CappedLog
from agent.run.confine import confine

PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.2  # how often lease and deadlines are looked at
SCRATCH_S = 2.0  # how often the room that it takes is
SPEC_FILE = "spec.json"
EXIT_FILE, EXIT_BYTES = "exit.json", 4096
LONGEST_DETAIL = 500  # characters: with it the record fits, whatever they are
NOT_FOUND, NOT_RUNNABLE = 127, 126  # as shells say it

_libc = ctypes.CDLL(None, use_errno=True)


def now_s() -> float:
    """The boot clock: not moved by wall clock changes, and it runs on while the host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def keep_exit(run: Path, document: dict[str, Any]) -> None:
    """Over the spaces that the agent has put there: on a full disk there is room for it too."""
    data = json.dumps(document, ensure_ascii=False).encode(errors="replace")
    descriptor = os.open(run / EXIT_FILE, os.O_WRONLY | os.O_CREAT, 0o600)
    os.pwrite(descriptor, data.ljust(EXIT_BYTES), 0)
    os.fsync(descriptor)
    os.close(descriptor)


def claim(run: Path) -> bool:
    """Take the attempt; false if the agent, restarted meanwhile, has given it up."""
    draft = run / f"claim.{os.getpid()}"
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    draft.write_text(json.dumps({"pid": os.getpid(), "start_ticks": int(ticks)}))
    try:
        os.link(draft, run / "claim")
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


class Shim:
    def __init__(self, run: Path, spec: dict[str, Any]) -> None:
        self.run, self.spec = run, spec
        self.logs: list[CappedLog] = []
        self.pipes = selectors.DefaultSelector()
        self.children: list[subprocess.Popen[bytes]] = []
        self.codes: dict[int, int] = {}
        self.failed: int | None = None
        self.started_s = self.measured_s = now_s()
        self.kill_at_s: float | None = None
        self.why = "exited"
        self.detail = ""
        self._trouble, self._troubled = os.pipe()

    def start(self) -> None:
        for process in self.spec["processes"]:
            with _hidden_arguments(process) as (argv, descriptors):
                child = subprocess.Popen(  # noqa: S603 - to run it is the purpose; no shell
                    argv,
                    env=process["env"],
                    cwd=self.spec["cwd"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    umask=0o022,
                    pass_fds=descriptors,
                    preexec_fn=self._confined(),  # noqa: PLW1509 - there are no threads here
                )
            self.children.append(child)
            for path, pipe in zip(process["logs"], (child.stdout, child.stderr), strict=True):
                assert pipe  # noqa: S101 - PIPE was asked for
                os.set_blocking(pipe.fileno(), False)
                log = CappedLog(self.run / path, self.spec["log_cap_bytes"])
                self.logs.append(log)
                self.pipes.register(pipe, selectors.EVENT_READ, log)

    def _confined(self) -> Callable[[], None]:
        spec, parent = self.spec, os.getpid()

        def apply() -> None:
            try:
                confine(spec, parent)
            except OSError as error:
                # The parent is only told that something went wrong.
                os.write(self._troubled, f"the job could not be confined: {error}".encode())
                raise

        return apply

    def trouble(self, error: Exception) -> str:
        os.set_blocking(self._trouble, False)
        with contextlib.suppress(BlockingIOError):
            return os.read(self._trouble, 1000).decode(errors="replace")
        return f"cannot start: {error}"

    def watch(self, wake: int) -> None:
        self.pipes.register(wake, selectors.EVENT_READ)
        while len(self.codes) < len(self.children):
            for key, _ in self.pipes.select(LOOK_S):
                if key.data is None:
                    self._signalled(os.read(wake, 64))
                else:
                    self._pump(key.fileobj, key.data)
            self._reap()
            self.watch_lease()
            self._watch_limits()
            if self.kill_at_s is not None and now_s() >= self.kill_at_s:
                self._kill()

    def _signalled(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers:
            grace_s = self.spec["grace_s"]
            with contextlib.suppress(OSError, ValueError, KeyError):
                grace_s = json.loads((self.run / "stop.json").read_text())["grace_s"]
            self.stop("stopped", grace_s)

    def watch_lease(self) -> None:
        try:
            lease = json.loads(Path(self.spec["lease_file"]).read_text())
        except (OSError, ValueError):
            return  # the agent is just starting over; it or the next look will find the lease
        lease = lease.get("attempts", {}).get(self.spec.get("attempt"), lease)
        grace_s = min(self.spec["grace_s"], lease["run_lease_s"] / 4)
        if now_s() >= lease["kill_at_s"] - grace_s:
            self.stop("lease_lost", lease["kill_at_s"] - now_s())

    def _watch_limits(self) -> None:
        time_limit_s = self.spec["time_limit_s"]
        if time_limit_s is not None and now_s() >= self.started_s + time_limit_s:
            self.stop("time_limit", self.spec["grace_s"])
        if self.spec["scratch_bytes"] and now_s() >= self.measured_s + SCRATCH_S:
            self.measured_s = now_s()
            if takes_more(self.spec["scratch"], self.spec["scratch_bytes"]):
                self.detail = (
                    f"it took more than its {self.spec['scratch_bytes'] >> 20} MiB of disk"
                )
                self.stop("exited", 0.0)

    def stop(self, why: str, grace_s: float) -> None:
        """Ask all to end; asked again, the earlier deadline and the first reason stay."""
        first = self.kill_at_s is None
        kill_at_s = now_s() + grace_s
        self.kill_at_s = kill_at_s if first else min(kill_at_s, self.kill_at_s or kill_at_s)
        if first:
            self.why = why
            for child in self._alive():
                self._terminate(child.pid)

    def _terminate(self, group: int) -> None:
        if not self.spec["wrapped"]:
            _quietly(os.killpg, group, signal.SIGTERM)
            return
        # bubblewrap passes no signal on, and its death takes the job with it without a grace.
        for pid in _pids(lambda stat: stat.group == group and stat.pid != group):
            _quietly(os.kill, pid, signal.SIGTERM)

    def _kill(self) -> None:
        if self.spec["kill_argv"]:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(  # noqa: S603 - written by the agent
                    self.spec["kill_argv"], capture_output=True, check=False, timeout=10
                )
        for child in self._alive():
            _quietly(os.killpg, child.pid, signal.SIGKILL)

    def _alive(self) -> list[subprocess.Popen[bytes]]:
        return [child for child in self.children if child.pid not in self.codes]

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                if pid in (pids := [child.pid for child in self.children]):
                    self.codes[pid] = os.waitstatus_to_exitcode(status)
                    if self.codes[pid] != 0 and self.failed is None:
                        self._failed(pids.index(pid), self.codes[pid])

    def _failed(self, number: int, code: int) -> None:
        """The first that fails speaks for all: those that follow were stopped for it."""
        self.failed = number
        if self.kill_at_s is None and self._alive():
            self.detail = f"one process of the gang ended with {code}; the others were stopped"
            self.stop("exited", self.spec["grace_s"])

    def sweep(self) -> None:
        """Nothing outlives its attempt: as subreaper this process inherits what others leave."""
        mine = os.getpid()
        for _ in range(50):
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            for pid in _pids(lambda stat: stat.parent == mine):
                _quietly(os.kill, pid, signal.SIGKILL)
            time.sleep(0.01)

    def drain(self) -> None:
        deadline_s = now_s() + 1.0
        while len(self.pipes.get_map()) > 1 and now_s() < deadline_s:
            for key, _ in self.pipes.select(LOOK_S):
                if key.data is not None:
                    self._pump(key.fileobj, key.data)

    def _pump(self, pipe: Any, log: CappedLog) -> None:
        with contextlib.suppress(BlockingIOError):
            if data := os.read(pipe.fileno(), 65536):
                log.write(data)
            else:
                self.pipes.unregister(pipe)

    def finish(self, error: tuple[int, str] | None = None) -> None:
        for log in self.logs:
            log.close()
        failed = None if self.failed is None else self.spec["processes"][self.failed]
        first_bad = 0 if self.failed is None else self.codes[self.children[self.failed].pid]
        code, self.detail = error or (first_bad, self.detail)
        keep_exit(
            self.run,
            {
                "exit_code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "why": self.why,
                "detail": self.detail[:LONGEST_DETAIL],
                "started_s": self.started_s,
                "ended_s": now_s(),
                "dropped": sum(log.dropped for log in self.logs),
                "failed_rank": failed and failed["rank"],
                "wrapped": self.spec["wrapped"],
                "stderr": (failed or self.spec["processes"][0])["logs"][1],
            },
        )


@contextlib.contextmanager
def _hidden_arguments(process: dict[str, Any]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Those with a tenant's values go by a file without a name: any user can list command lines."""
    if not process["hidden"]:
        yield process["argv"], ()
        return
    program, option, *rest = process["argv"]
    descriptor = os.memfd_create("arguments")
    try:
        os.write(descriptor, b"".join(each.encode() + b"\0" for each in process["hidden"]))
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield [program, option, str(descriptor), *rest], (descriptor,)
    finally:
        os.close(descriptor)


def takes_more(paths: list[str], most: int) -> bool:
    """Whether what lies below the paths fills more blocks than that; links are not followed."""
    taken = 0
    waiting = list(paths)
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    taken += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                if taken > most:
                    return True
    return False


class Stat:
    """The few fields of /proc/PID/stat that matter here."""

    def __init__(self, text: str) -> None:
        self.pid = int(text.split(" ", 1)[0])
        state, parent, group = text.rpartition(")")[2].split()[:3]
        self.zombie, self.parent, self.group = state == "Z", int(parent), int(group)


def _pids(wanted: Callable[[Stat], bool]) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = Stat((entry / "stat").read_text())
                if wanted(stat):
                    found.append(stat.pid)
    return found


def _quietly(send: Callable[[int, int], None], target: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)


def _signals() -> BinaryIO:
    """The reading end of a pipe that receives one byte per signal."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return os.fdopen(reading, "rb", buffering=0)


def main(run: Path) -> None:
    os.umask(0o077)
    wake = _signals()
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    if not claim(run):
        return
    shim = Shim(run, json.loads((run / SPEC_FILE).read_text()))
    # It holds the tenant's values.
    (run / SPEC_FILE).unlink()
    shim.watch_lease()
    if shim.kill_at_s is not None:
        shim.finish()
        return
    try:
        shim.start()
    except (OSError, subprocess.SubprocessError) as error:
        shim.stop("exited", 0)
        shim.sweep()
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        shim.finish((code, shim.trouble(error)))
        return
    shim.watch(wake.fileno())
    shim.sweep()
    shim.drain()
    shim.finish()
