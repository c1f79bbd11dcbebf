"""Runs one attempt's processes and keeps their exit code, whatever becomes of the agent.

Started by path with nothing but the standard library: `python -I -S shim.py RUN_DIRECTORY`.
Reads spec.json; SIGTERM means "stop within the grace in stop.json"; ends by writing exit.json.
"""

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK_S = 0.2  # how often lease and deadlines are looked at
TAIL_BYTES = 64 * 1024  # the end of a log that outgrew its cap: tracebacks stand there
NOT_FOUND, NOT_RUNNABLE = 127, 126  # as shells say it

_libc = ctypes.CDLL(None, use_errno=True)


def now_s() -> float:
    """The boot clock: not moved by wall clock changes, and it runs on while the host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write_durably(path: Path, document: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    with draft.open("w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


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


class CappedLog:
    """A file with a cap: the head as it comes, and at the end the last bytes of what was cut."""

    def __init__(self, path: Path, cap: int) -> None:
        self._file = path.open("wb", buffering=0)
        self._room = max(cap - TAIL_BYTES, cap // 2)
        self._tail_room = cap - self._room
        self._tail = bytearray()
        self.dropped = 0

    def write(self, data: bytes) -> None:
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        with contextlib.suppress(OSError):  # a full disk must not end the attempt
            self._file.write(head)
        self._tail += rest
        if (excess := len(self._tail) - self._tail_room) > 0:
            self.dropped += excess
            del self._tail[:excess]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.write(self._tail)
            os.fsync(self._file.fileno())
        self._file.close()


class Shim:
    def __init__(self, run: Path, spec: dict[str, Any]) -> None:
        self.run, self.spec = run, spec
        self.logs = {
            name: CappedLog(run / f"{name}.log", spec["log_cap_bytes"]) for name in LOG_NAMES
        }
        self.pipes = selectors.DefaultSelector()
        self.children: list[subprocess.Popen[bytes]] = []
        self.codes: dict[int, int] = {}
        self.kill_at_s: float | None = None
        self.why = "exited"
        self.detail = ""

    def start(self) -> None:
        for process in self.spec["processes"]:
            child = subprocess.Popen(  # noqa: S603 - to run it is the purpose; no shell
                process["argv"],
                env=process["env"],
                cwd=self.spec["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                umask=0o022,
                user=self.spec["uid"],
                group=self.spec["gid"],
                extra_groups=None if self.spec["uid"] is None else [],
                preexec_fn=self._limits(),  # noqa: PLW1509 - there are no threads here
            )
            self.children.append(child)
            for name, pipe in zip(LOG_NAMES, (child.stdout, child.stderr), strict=True):
                assert pipe  # noqa: S101 - PIPE was asked for
                os.set_blocking(pipe.fileno(), False)
                self.pipes.register(pipe, selectors.EVENT_READ, self.logs[name])

    def _limits(self) -> Callable[[], None]:
        spec = self.spec

        def apply() -> None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if spec["cgroup_procs"]:
                Path(spec["cgroup_procs"]).write_text(str(os.getpid()))
            if spec["cpus"]:
                os.sched_setaffinity(0, spec["cpus"])
            if spec["data_limit_bytes"]:
                # RLIMIT_DATA, not RLIMIT_AS: CUDA reserves far more addresses than it uses.
                limit = spec["data_limit_bytes"]
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return apply

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
        grace_s = min(self.spec["grace_s"], lease["run_lease_s"] / 4)
        if now_s() >= lease["kill_at_s"] - grace_s:
            self.stop("lease_lost", lease["kill_at_s"] - now_s())

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
                if pid in {child.pid for child in self.children}:
                    self.codes[pid] = os.waitstatus_to_exitcode(status)
                    if self.codes[pid] != 0 and self.kill_at_s is None and self._alive():
                        self._gang_broken(self.codes[pid])

    def _gang_broken(self, code: int) -> None:
        self.detail = f"one process of the gang ended with {code}; the others were stopped"
        self.stop("exited", self.spec["grace_s"])

    def sweep(self) -> None:
        """Nothing outlives its attempt: as subreaper this process inherits what others leave."""
        mine = os.getpid()
        for _ in range(50):
            left = _pids(lambda stat: stat.parent == mine)
            for pid in left:
                _quietly(os.kill, pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not left:
                return
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

    def finish(self, started_s: float, error: tuple[int, str] | None = None) -> None:
        for log in self.logs.values():
            log.close()
        codes = list(self.codes.values())
        first_bad = next((code for code in codes if code), 0)
        code, self.detail = error or (first_bad, self.detail)
        write_durably(
            self.run / "exit.json",
            {
                "exit_code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "why": self.why,
                "detail": self.detail,
                "started_s": started_s,
                "ended_s": now_s(),
                "dropped": sum(log.dropped for log in self.logs.values()),
            },
        )


LOG_NAMES = ("stdout", "stderr")


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
    shim = Shim(run, json.loads((run / "spec.json").read_text()))
    started_s = now_s()
    shim.watch_lease()
    if shim.kill_at_s is not None:
        shim.finish(started_s)
        return
    try:
        shim.start()
    except (OSError, subprocess.SubprocessError) as error:
        shim.stop("exited", 0)
        shim.sweep()
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        shim.finish(started_s, (code, f"cannot start: {error}"))
        return
    shim.watch(wake.fileno())
    shim.sweep()
    shim.drain()
    shim.finish(started_s)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
