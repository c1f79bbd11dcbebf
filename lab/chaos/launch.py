"""The campaign's stack: `make up` as it is, but that its programs can be found and hurt.

Every program is started through one function, which here writes down its name and pid, sends agents
through the campaign's proxies and gives them the campaign's GPUs, and lets crash points in.
"""

import ctypes
import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import IO

import psutil

from scheduler_service.embedded import program as programs
from scheduler_service.embedded import supervisor
from scheduler_service.embedded.program import Program
from scheduler_service.embedded.up import up
from scheduler_service.orphans import PR_SET_PDEATHSIG

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "lab" / "chaos" / "crash" / "site"
DEVICES = ROOT / "lab" / "chaos" / "node.toml"
# What was killed a moment ago is killed again: nobody waits half a minute for it each time.
LONGEST_BACKOFF_S = 2.0
PATIENCE_S = 300.0


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(os.environ["CHAOS_PARENT"]):
        return  # the campaign was gone before we could ask to hear of it
    supervisor.BACKOFF_MAX_S = LONGEST_BACKOFF_S
    # A machine under fire, or under other people's work, takes its time.
    supervisor.ProgramSupervisor.start.__kwdefaults__ = {"patience_s": PATIENCE_S}
    supervisor.spawn = _spawn  # type: ignore[attr-defined]  # it is imported there, and called
    up()


def _spawn(program: Program, output: int | IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    ours = "FAIRWATT_VAR" in program.env
    server = _option(program.argv, "--server")
    changed = _hurtable(program) if ours else program
    process = programs.spawn(changed, output)
    born_s = psutil.Process(process.pid).create_time()
    line = {"name": program.name, "pid": process.pid, "born_s": born_s, "server": server}
    with Path(os.environ["CHAOS_PROGRAMS"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return process


def _hurtable(program: Program) -> Program:
    path = os.pathsep.join((str(SITE), str(ROOT)))
    proxies: dict[str, str] = json.loads(os.environ["CHAOS_PROXIES"])
    argv = program.argv
    if program.name in proxies:
        argv = _with(argv, "--server", proxies[program.name])
        argv = _with(argv, "--devices", f"emulated:{DEVICES}")
    return replace(program, argv=argv, env={**program.env, "PYTHONPATH": path})


def _option(argv: tuple[str, ...], name: str) -> str | None:
    return argv[argv.index(name) + 1] if name in argv else None


def _with(argv: tuple[str, ...], name: str, value: str) -> tuple[str, ...]:
    at = argv.index(name) + 1
    return (*argv[:at], value, *argv[at + 1 :])


if __name__ == "__main__":
    main()
