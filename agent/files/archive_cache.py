"""Archives that this node has fetched, by tenant and digest; the least used are forgotten first."""

import contextlib
import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from agent.remember.disk import DiskSpace
from agent.wire import Archive

PART = ".part"
CHUNK_BYTES = 2**20


class WrongBytesError(Exception):
    """What was fetched is not what was announced."""


@dataclass(frozen=True, slots=True)
class ArchiveCache:
    """Readable by the agent's user alone. Tenants share nothing, not even knowing of each other."""

    directory: Path
    most_bytes: int
    disk: DiskSpace

    def name(self, tenant_id: int | None, archive: Archive) -> str:
        return f"{tenant_id or 0}-{archive.digest}"

    def get(self, name: str, archive: Archive) -> Path | None:
        """The file, marked as used now; it was checked before it got its name."""
        path = self.directory / name
        try:
            if path.stat().st_size != archive.size:
                return None
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def part(self, name: str, archive: Archive) -> "ArchivePart":
        return ArchivePart(self.directory / f"{name}{PART}", self.directory / name, archive)

    def shortage(self, archive: Archive, in_use: Collection[str]) -> str:
        """Why there is no room to fetch and unpack it; empty if there is, if need be made."""
        if not self._shortage(archive):
            return ""
        self.prune(in_use, most_bytes=0)
        return self._shortage(archive)

    def prune(self, in_use: Collection[str], most_bytes: int | None = None) -> None:
        """Forget what was not used for longest, until the rest is no more than it may be."""
        kept = self.most_bytes if most_bytes is None else most_bytes
        for path in sorted(self.directory.iterdir(), key=_used_s, reverse=True):
            kept -= _size(path)
            if kept < 0 and path.name.removesuffix(PART) not in in_use:
                path.unlink(missing_ok=True)

    def _shortage(self, archive: Archive) -> str:
        # Once packed and at least once unpacked.
        return DiskSpace(self.directory, self.disk.least_bytes + 2 * archive.size).shortage()


@dataclass(slots=True)
class ArchivePart:
    """An archive on its way: what came before the connection broke is gone on with."""

    path: Path
    target: Path
    archive: Archive
    size: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)
    _file: BinaryIO | None = None

    def open(self) -> int:
        """The next byte that is wanted."""
        self._file = self.path.open("ab+")
        self.path.chmod(0o600)
        self._file.seek(0)
        self.size, self._digest = 0, hashlib.sha256()
        while data := self._file.read(CHUNK_BYTES):
            self.size += len(data)
            self._digest.update(data)
        if self.size > self.archive.size:
            self.restart()
        return self.size

    def restart(self) -> None:
        """From the first byte: what is there is of something else."""
        assert self._file is not None  # noqa: S101 - it was opened
        self._file.truncate(0)
        self.size, self._digest = 0, hashlib.sha256()

    def write(self, data: bytes) -> None:
        assert self._file is not None  # noqa: S101 - it was opened
        if self.size + len(data) > self.archive.size:
            self._drop()
            raise WrongBytesError(f"more than its {self.archive.size} bytes came")
        self._file.write(data)
        self._file.flush()
        self._digest.update(data)
        self.size += len(data)

    def keep(self) -> None:
        """It is whole: give it its name. Only checked bytes ever have one."""
        assert self._file is not None  # noqa: S101 - it was opened
        if self._digest.hexdigest() != self.archive.digest:
            self._drop()
            raise WrongBytesError(f"the bytes that came are not those of {self.archive.digest}")
        os.fsync(self._file.fileno())
        self.path.replace(self.target)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def whole(self) -> bool:
        return self.size == self.archive.size

    def _drop(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()


def _used_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
