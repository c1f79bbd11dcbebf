"""Unpacks an archive into a folder and nowhere else; standard library only.

Run as the tenant. The service has looked the archive through; here the kernel holds what was
promised: every member is made from a folder that is held open, and no link is followed.
"""

import contextlib
import errno
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from agent.files.folders import folder_at

MOST_MEMBERS = 100_000
CHUNK_BYTES = 2**20
NODE_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_UNREADABLE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, ValueError, RuntimeError, MemoryError),
)


class BadArchiveError(Exception):
    """Why an archive is not unpacked: the fault of who made it."""


@dataclass(slots=True)
class Unpacking:
    """A folder that is filled, and how much more may come."""

    folder: int
    most_bytes: int
    unpacked: int = 0
    members: int = 0

    def count(self, size: int) -> None:
        """Before anything of a member is read: a bomb costs its headers and no more."""
        self.members += 1
        self.unpacked += size
        if self.members > MOST_MEMBERS:
            raise BadArchiveError(f"it has more than {MOST_MEMBERS} members")
        if size < 0 or self.unpacked > self.most_bytes:
            raise BadArchiveError(f"it unpacks to more than {self.most_bytes >> 20} MiB")

    def make_folder(self, name: str) -> None:
        with folder_at(self.folder, steps_of(name), make=True):
            pass

    def make_file(self, name: str, content: IO[bytes], size: int, mode: int) -> None:
        *above, last = _named(name)
        with folder_at(self.folder, above, make=True) as where:
            _remove(where, last)
            descriptor = os.open(last, _NEW, mode & 0o755 | 0o600, dir_fd=where)
            with os.fdopen(descriptor, "wb") as file:
                _copy(content, file, size)

    def make_symlink(self, name: str, target: str) -> None:
        *above, last = _named(name)
        if not stays(target, len(above)):
            raise _refused(name, "is a link out of the folder")
        with folder_at(self.folder, above, make=True) as where:
            _remove(where, last)
            os.symlink(target, last, dir_fd=where)

    def make_hard_link(self, name: str, target: str) -> None:
        *above, last = _named(name)
        *there, found = _named(target)
        with (
            folder_at(self.folder, there) as source,
            folder_at(self.folder, above, make=True) as where,
        ):
            _remove(where, last)
            os.link(found, last, src_dir_fd=source, dst_dir_fd=where, follow_symlinks=False)


def unpack(archive: IO[bytes], kind: str, folder: int, *, most_bytes: int) -> None:
    """An OSError that says the disk is full is the node's fault; all else is the archive's."""
    into = Unpacking(folder, most_bytes)
    try:
        if kind == "zip":
            _unpack_zip(archive, into)
        else:
            _unpack_tar(archive, into)
    except _UNREADABLE as error:
        why = str(error) or type(error).__name__
        raise BadArchiveError(f"it cannot be read: {why}") from None


def steps_of(name: str) -> list[str]:
    """Where a member goes, below the folder."""
    if name.startswith("/"):
        raise _refused(name, "has an absolute path")
    steps = [step for step in name.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise _refused(name, "leaves the folder with `..`")
    return steps


def stays(target: str, depth: int) -> bool:
    """Whether a link so deep leads no higher than the folder.

    `..` may only come first: after a name, which may be a link itself, it could lead anywhere.
    """
    steps = [step for step in target.split("/") if step not in ("", ".")]
    up = next((at for at, step in enumerate(steps) if step != ".."), len(steps))
    return not target.startswith("/") and ".." not in steps[up:] and up <= depth


def _unpack_tar(archive: IO[bytes], into: Unpacking) -> None:
    with tarfile.open(fileobj=archive, mode="r|gz") as members:
        while (member := members.next()) is not None:
            # It keeps all that it has read; nobody asks for it again.
            members.members.clear()  # type: ignore[attr-defined]
            into.count(member.size if member.isreg() else 0)
            with _named_in_errors(member.name):
                _take(members, member, into)


def _take(members: tarfile.TarFile, member: tarfile.TarInfo, into: Unpacking) -> None:
    if member.isdir():
        into.make_folder(member.name)
    elif member.issym():
        into.make_symlink(member.name, member.linkname)
    elif member.islnk():
        into.make_hard_link(member.name, member.linkname)
    elif member.isreg() and not member.issparse():
        content = members.extractfile(member)
        assert content is not None  # noqa: S101 - it is a regular file
        into.make_file(member.name, content, member.size, member.mode)
    else:
        raise _refused(member.name, "is neither file, folder nor link")


def _unpack_zip(archive: IO[bytes], into: Unpacking) -> None:
    with zipfile.ZipFile(archive) as members:
        for member in members.infolist():
            mode = member.external_attr >> 16
            into.count(member.file_size)
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refused(member.filename, "is neither file nor folder")
            with _named_in_errors(member.filename):
                if member.is_dir():
                    into.make_folder(member.filename)
                else:
                    with members.open(member) as content:
                        into.make_file(member.filename, content, member.file_size, mode)


def _copy(content: IO[bytes], file: IO[bytes], size: int) -> None:
    while size > 0:
        data = content.read(min(size, CHUNK_BYTES))
        if not data:
            raise EOFError("it ends within a member")
        file.write(data)
        size -= len(data)


def _named(name: str) -> list[str]:
    if not (steps := steps_of(name)):
        raise _refused(name, "has no name")
    return steps


def _remove(where: int, name: str) -> None:
    """A later member of the same name takes the place of the earlier one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=where)


@contextlib.contextmanager
def _named_in_errors(name: str) -> Iterator[None]:
    """The kernel's refusals: through a link, over a folder, a name too long, a link to nothing."""
    try:
        yield
    except OSError as error:
        if error.errno in NODE_FAULTS:
            raise
        raise _refused(name, f"cannot be made: {error.strerror or error}") from None


def _refused(name: str, what: str) -> BadArchiveError:
    return BadArchiveError(f"the member {name[:200]!a} {what}")
