"""Fills the working directories of attempts before they begin, one small step at a time.

Nothing here waits: downloads are the event loop's, and unpacking is a process's own. Whatever is
broken off is begun anew by the next agent; a working directory has its name once it is whole.
"""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from agent.files.downloads import ArchiveDownloads, Download
from agent.files.file_tasks import FileTasks
from agent.run.attempt_run import AttemptRun
from agent.run.tenant_users import TenantUsers, give
from agent.wire import (
    Archive,
    AttemptRef,
    DesiredAttempt,
    End,
    Fetched,
    Fetching,
    GitCommit,
)

# Where an attempt has no limit of its own.
MOST_BYTES = 16 * 2**30


class UnpreparedError(Exception):
    """Why an attempt cannot begin, and how that ends it."""

    def __init__(self, end: End, why: str) -> None:
        super().__init__(why)
        self.end = end


@dataclass(frozen=True, slots=True)
class WorkdirPreparer:
    downloads: ArchiveDownloads
    tasks: FileTasks
    users: TenantUsers

    def ready(self, run: AttemptRun) -> bool:
        """Whether the working directory is whole; if not, it is brought a step further."""
        workdir = run.attempt.workdir
        if workdir is None or run.work.exists():
            return True
        run.directory.mkdir(mode=0o711, exist_ok=True)
        if run.child is not None:
            return self._ended(run)
        if workdir.git is not None:
            self._check_out(run, workdir.git)
        elif workdir.archive is not None:
            self._unpack(run, workdir.archive)
        return False

    def keep_only(self, refs: Collection[AttemptRef]) -> None:
        """Those that are being prepared."""
        self.downloads.keep_only(refs)

    def _unpack(self, run: AttemptRun, archive: Archive) -> None:
        download = self.downloads.need(run.attempt, archive)
        if (file := self.downloads.file(download)) is None:
            _tell_fault(download)
            cache = self.downloads.cache
            if not download.active and (why := cache.shortage(archive, self.downloads.needed)):
                raise UnpreparedError(End.REFUSED, why)
            run.waits_for, run.brought = str(download), download.progress
            return
        run.brought = Fetching(Fetched.ARCHIVE, archive.size, archive.size)
        task = {"kind": "unpack", "archive": str(file), "format": archive.format.value}
        self._start(run, "unpacking its working directory", task)

    def _check_out(self, run: AttemptRun, git: GitCommit) -> None:
        if not run.attempt.network:
            why = "this cluster keeps jobs from the network: send the code as a folder"
            raise UnpreparedError(End.INPUT_FAILED, why)
        run.brought = Fetching(Fetched.GIT)
        task = {"kind": "git", "url": git.url, "commit": git.commit}
        self._start(run, f"fetching {git.url}", task)

    def _start(self, run: AttemptRun, what: str, task: dict[str, Any]) -> None:
        """Into a folder of a new name: nobody else can be writing there still."""
        user = self.users.of(run.attempt.tenant_id)
        run.draft = run.directory / f"work.{secrets.token_hex(4)}"
        run.draft.mkdir(mode=0o700)
        give(run.draft, user)
        run.waits_for = what
        room = {"folder": str(run.draft), "most_bytes": self._most_bytes(run.attempt)}
        run.child = self.tasks.start(run.directory, user, task | room)

    def _most_bytes(self, attempt: DesiredAttempt) -> int:
        """Neighbours keep the room that a node must have to take work at all."""
        disk = self.downloads.cache.disk
        room = disk.free() - disk.least_bytes
        return max(0, min(room, attempt.scratch_mib << 20 or MOST_BYTES))

    def _ended(self, run: AttemptRun) -> bool:
        if run.child is not None and run.child.alive:
            return False
        run.child = None
        result = self.tasks.result(run.directory)
        if why := result.get("fault"):
            raise UnpreparedError(End.INPUT_FAILED, f"its working directory: {why}")
        if why := result.get("node_fault"):
            raise UnpreparedError(End.REFUSED, f"its working directory: {why}")
        assert run.draft is not None  # noqa: S101 - the task has filled it
        run.draft.rename(run.work)
        return True


def _tell_fault(download: Download) -> None:
    if download.fault:
        raise UnpreparedError(End.INPUT_FAILED, f"its working directory: {download.fault}")
    if download.node_fault:
        raise UnpreparedError(End.REFUSED, f"its working directory: {download.node_fault}")
