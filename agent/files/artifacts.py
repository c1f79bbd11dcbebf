"""What ended attempts leave behind: packed once, then sent until the service has it.

All of it is known from files of the attempt's directory, so that the next agent goes on.
"""

import contextlib
import json
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.files.file_tasks import FileTasks
from agent.remember.attempt_store import AttemptStore, EndedAttempt
from agent.remember.disk import DiskSpace
from agent.remember.files import read_json, write_whole
from agent.remember.state_dir import StateDir
from agent.run.processes import Process
from agent.run.tenant_users import NoSuchUserError, TenantUsers
from agent.wire import AttemptRef, DesiredAttempt, End
from agent.wire.bounds import MAX_BLOB_BYTES

log = logging.getLogger("fairwatt.agent")

DECLARED_FILE, PACKED_FILE, SPOOLS = "artifacts.json", "packed.json", "artifacts"
# A stopped attempt goes on elsewhere; what was refused has nothing.
KEPT_ENDS = (End.EXITED, End.TIME_LIMIT)
LONGEST_FAULT = 200


@dataclass(slots=True)
class ArtifactToSend:
    ref: AttemptRef
    name: str
    spool: Path
    size: int = 0
    digest: str | None = None
    packed: bool = False
    fault: str = ""
    offset: int = 0
    closed: bool = False

    def read(self, most: int) -> bytes:
        if self.digest is None:
            return b""
        with self.spool.open("rb") as file:
            file.seek(self.offset)
            return file.read(most)


@dataclass(slots=True)
class LeftBehind:
    """Of one attempt; `to_send` is None until all of it is packed."""

    packing: Process | None = None
    to_send: list[ArtifactToSend] | None = None

    @property
    def finished(self) -> bool:
        return self.to_send is not None and all(each.closed for each in self.to_send)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Belongs to the thread of processes and files; the event loop sends what it is given."""

    store: AttemptStore
    state_dir: StateDir
    disk: DiskSpace
    tasks: FileTasks
    users: TenantUsers
    left: dict[AttemptRef, LeftBehind] = field(default_factory=dict)

    def pack_ended(self) -> None:
        """One at a time: what runs comes first."""
        for ref, ended in self.store.ended.items():
            if ref not in self.left:
                self.left[ref] = self._known(ref, ended)
        for ref, left in self.left.items():
            if left.packing is not None and not left.packing.alive:
                left.packing = None
                self._packed(ref, left)
        if all(left.packing is None for left in self.left.values()):
            self._pack_next()

    def to_send(self) -> list[ArtifactToSend]:
        return [
            each for left in self.left.values() for each in left.to_send or () if not each.closed
        ]

    def finished(self, ref: AttemptRef) -> bool:
        return ref in self.left and self.left[ref].finished

    def forget(self, ref: AttemptRef) -> None:
        self.left.pop(ref, None)

    def _known(self, ref: AttemptRef, ended: EndedAttempt) -> LeftBehind:
        directory = self.state_dir.run(ref)
        if ended.report.end not in KEPT_ENDS or read_json(directory / DECLARED_FILE) is None:
            return LeftBehind(to_send=[])
        if (packed := read_json(directory / PACKED_FILE)) is not None:
            return LeftBehind(to_send=_to_send(ref, directory, packed))
        return LeftBehind()

    def _pack_next(self) -> None:
        waiting = (ref for ref, left in self.left.items() if left.to_send is None)
        if (ref := next(waiting, None)) is None:
            return
        try:
            self.left[ref].packing = self._start(ref, self.state_dir.run(ref))
        except (OSError, NoSuchUserError) as error:
            self._keep(ref, self.left[ref], {"node_fault": f"it cannot be packed: {error}"})

    def _start(self, ref: AttemptRef, directory: Path) -> Process:
        declared = read_json(directory / DECLARED_FILE)
        (directory / SPOOLS).mkdir(mode=0o700, exist_ok=True)
        task = {
            "kind": "pack",
            "folder": str(directory / "work"),
            "artifacts": [
                {"path": each["path"], "spool": str(directory / SPOOLS / each["name"])}
                for each in declared["artifacts"]
            ],
            # What others need to go on working is not for sale.
            "most_bytes": max(0, min(MAX_BLOB_BYTES, self.disk.free() - self.disk.least_bytes)),
        }
        return self.tasks.start(directory, self.users.of(declared["tenant_id"]), task)

    def _packed(self, ref: AttemptRef, left: LeftBehind) -> None:
        self._keep(ref, left, self.tasks.result(self.state_dir.run(ref)))

    def _keep(self, ref: AttemptRef, left: LeftBehind, result: dict[str, Any]) -> None:
        """Written down before the working directory goes: it cannot be packed again."""
        directory = self.state_dir.run(ref)
        declared = read_json(directory / DECLARED_FILE)
        count = len(declared["artifacts"])
        fault = {"fault": result.get("node_fault") or "it could not be packed"}
        found = result.get("artifacts") or [fault] * count
        packed = [
            {**each, "name": said["name"]}
            for each, said in zip(found, declared["artifacts"], strict=True)
        ]
        with contextlib.suppress(OSError):  # a full disk: the next agent packs them again
            write_whole(directory / PACKED_FILE, json.dumps(packed).encode(), mode=0o600)
            shutil.rmtree(directory / "work", ignore_errors=True)
        left.to_send = _to_send(ref, directory, packed)
        log.info("attempt %s leaves %s artifacts", ref.attempt_id, count)


def keep_declared(directory: Path, attempt: DesiredAttempt) -> None:
    """Before the attempt begins: after its end nobody asks the service again."""
    if not attempt.artifacts:
        return
    document = {
        "tenant_id": attempt.tenant_id,
        "artifacts": [{"name": each.name, "path": each.path} for each in attempt.artifacts],
    }
    write_whole(directory / DECLARED_FILE, json.dumps(document).encode(), mode=0o600)


def _to_send(
    ref: AttemptRef, directory: Path, packed: list[dict[str, Any]]
) -> list[ArtifactToSend]:
    return [
        ArtifactToSend(
            ref,
            each["name"],
            directory / SPOOLS / each["name"],
            size=each.get("size", 0),
            digest=each.get("digest"),
            packed=each.get("packed", False),
            fault=each.get("fault", "")[:LONGEST_FAULT],
        )
        for each in packed
    ]
