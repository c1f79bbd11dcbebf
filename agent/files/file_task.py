"""One piece of work on an attempt's files, done in a process of its own as the tenant.

Forked by `shim_server.py`, so that only the standard library is imported here. What only the agent
may open is opened before the rights are given up; the answer goes to a file that was opened then.
"""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.files.folders import FOLDER
from agent.files.git_checkout import GitError, NoSuchCommitError, checkout
from agent.files.pack import pack
from agent.files.unpack import BadArchiveError, unpack
from agent.run.confine import confine

TASK_FILE, RESULT_FILE, LOG_FILE = "task.json", "task-result.json", "task.log"
NICE = 10
Work = Callable[[], dict[str, Any]]


def main(run: Path) -> None:
    # Its own children, as those of git, end with it.
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    task = json.loads((run / TASK_FILE).read_text())
    result = os.open(run / RESULT_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    work = _KINDS[task["kind"]](task)
    os.umask(0o022)
    os.nice(NICE)
    confine(task["confined"], os.getppid())
    os.write(result, json.dumps(_done(work)).encode())


def _done(work: Work) -> dict[str, Any]:
    """`fault` is the job's own doing, `node_fault` may not happen elsewhere."""
    try:
        return work()
    except (BadArchiveError, NoSuchCommitError) as error:
        return {"fault": str(error)}
    except (GitError, OSError, MemoryError) as error:
        return {"node_fault": str(error) or type(error).__name__}


def _unpacking(task: dict[str, Any]) -> Work:
    archive = os.open(task["archive"], os.O_RDONLY)
    folder = os.open(task["folder"], FOLDER)

    def work() -> dict[str, Any]:
        with os.fdopen(archive, "rb") as file:
            unpack(file, task["format"], folder, most_bytes=task["most_bytes"])
        return {}

    return work


def _checking_out(task: dict[str, Any]) -> Work:
    def work() -> dict[str, Any]:
        os.chdir(task["folder"])
        checkout(task["url"], task["commit"], most_bytes=task["most_bytes"])
        return {}

    return work


def _packing(task: dict[str, Any]) -> Work:
    folder = os.open(task["folder"], FOLDER)
    spools = [Path(each["spool"]).open("wb") for each in task["artifacts"]]  # noqa: SIM115

    def work() -> dict[str, Any]:
        found = []
        with contextlib.ExitStack() as opened:
            for each, spool in zip(task["artifacts"], spools, strict=True):
                file = opened.enter_context(spool)
                found.append(pack(folder, each["path"], file, most_bytes=task["most_bytes"]))
        return {"artifacts": found}

    return work


_KINDS: dict[str, Callable[[dict[str, Any]], Work]] = {
    "unpack": _unpacking,
    "git": _checking_out,
    "pack": _packing,
}
