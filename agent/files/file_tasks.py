"""Starts work on files as the tenant, in processes that end with this agent."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.files.file_task import RESULT_FILE, TASK_FILE
from agent.remember.files import read_json, write_whole
from agent.run.closed_folders import ways
from agent.run.processes import Process
from agent.run.shims import Shims
from agent.run.tenant_users import User

# What makes the process need more memory is made for that.
LIMITS = {"RLIMIT_DATA": 2**30, "RLIMIT_CORE": 0}


@dataclass(frozen=True, slots=True)
class FileTasks:
    """At most one at a time for each attempt's directory."""

    shims: Shims

    def start(self, directory: Path, user: User | None, task: dict[str, Any]) -> Process:
        confined = {
            "cgroup_procs": [],
            "cpus": [],
            "limits": LIMITS,
            "unshare": 0,
            "ways": ways((Path(task["folder"]),), user.uid) if user else {},
            "cwd": task["folder"],
            "uid": user.uid if user else None,
            "gid": user.gid if user else None,
        }
        document = json.dumps({**task, "confined": confined}).encode()
        write_whole(directory / TASK_FILE, document, mode=0o600, durable=False)
        # One of an earlier agent may still write; it writes to a file that is gone.
        (directory / RESULT_FILE).unlink(missing_ok=True)
        return self.shims.start_file_task(directory)

    def result(self, directory: Path) -> dict[str, Any]:
        result: dict[str, Any] | None = read_json(directory / RESULT_FILE)
        if result is None:
            return {"node_fault": "the process that worked on its files was ended"}
        return result
