"""Whether an archive may be unpacked on a node: looked through when it comes in, never unpacked.

A member may lie only below the folder that the archive is unpacked in, and reach nothing else.
"""

import posixpath
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from gzip import GzipFile
from pathlib import Path
from typing import IO

from agent.wire import ArchiveFormat

MOST_MEMBERS = 100_000
LONGEST_NAME = 1024
# What compresses better than this, and is large, is made to fill a disk.
MOST_RATIO = 200
SMALL_BYTES = 64 * 2**20
# Long names and extended headers are read into memory whole.
LARGEST_HEADER = 2**20
LARGEST_DIRECTORY = 32 * 2**20
_BLOCK = 512
_HEADERS = frozenset(b"xgLKX")
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_END_OF_ZIP, _LOCATOR_OF_ZIP64 = b"PK\x05\x06", b"PK\x06\x07"
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error)


class ArchiveRefused(Exception):
    """Why an archive is not taken; `code` is for programs."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def check_archive(path: Path, kind: ArchiveFormat, *, most_bytes: int) -> None:
    look = _Look(path.stat().st_size, most_bytes)
    try:
        if kind is ArchiveFormat.ZIP:
            _check_zip(path, look)
        else:
            _check_tar(path, look)
    except _BROKEN as error:
        detail = f"The bytes are no readable {kind.value}: {str(error) or type(error).__name__}."
        raise ArchiveRefused("archive_broken", detail) from None
    except (ValueError, UnicodeError, NotImplementedError) as error:
        raise ArchiveRefused("archive_broken", f"A member cannot be read: {error}.") from None


@dataclass
class _Look:
    """What was seen of an archive so far."""

    packed_bytes: int
    most_bytes: int
    members: int = 0
    bytes: int = 0
    links: set[str] = field(default_factory=set)
    # Every place that is taken, folders above members included.
    taken: set[str] = field(default_factory=set)

    def count(self, size: int) -> None:
        self.members += 1
        self.bytes += size
        if self.members > MOST_MEMBERS:
            raise ArchiveRefused("too_many_members", f"At most {MOST_MEMBERS} members.")
        if self.bytes > self.most_bytes:
            detail = f"It would unpack to more than {self.most_bytes} bytes."
            raise ArchiveRefused("unpacks_too_large", detail)
        if self.bytes > max(SMALL_BYTES, MOST_RATIO * self.packed_bytes):
            detail = f"It would unpack to more than {MOST_RATIO} times its size."
            raise ArchiveRefused("unpacks_too_large", detail)

    def place(self, name: str) -> str:
        """Where a member goes, below the folder; nothing may go through a link."""
        if not name or len(name) > LONGEST_NAME or "\\" in name or "\0" in name:
            raise _refused("bad_member_name", name, "has a name that no folder should have")
        if name.startswith("/"):
            raise _refused("absolute_path", name, "has an absolute path")
        if ".." in name.split("/"):
            raise _refused("path_leaves", name, "leaves the folder with `..`")
        place = posixpath.normpath(name)
        steps = place.split("/")
        above = ["/".join(steps[:depth]) for depth in range(1, len(steps))]
        if not self.links.isdisjoint([*above, place]):
            raise _refused("path_through_link", name, "goes through or replaces a link")
        self.taken.update(above)
        return place

    def link(self, place: str, target: str, *, hard: bool) -> None:
        """Targets of hard links begin at the folder, those of symbolic ones beside the link.

        `..` may only come first: after a name, which may be a link itself, it could lead anywhere.
        """
        start = "" if hard else posixpath.dirname(place)
        reached = posixpath.normpath(posixpath.join(start, target))
        steps = [step for step in target.split("/") if step not in ("", ".")]
        turns = ".." in steps[steps.count("..") :]
        if target.startswith("/") or turns or reached == ".." or reached.startswith("../"):
            raise _refused("link_leaves", place, "is a link out of the folder")
        if place in self.taken:
            raise _refused("path_through_link", place, "is a link in the place of another member")
        self.links.add(place)


def _refused(code: str, name: str, what: str) -> ArchiveRefused:
    return ArchiveRefused(code, f"The member {name[:200]!r} {what}.")


def _check_tar(path: Path, look: _Look) -> None:
    headers = _Look(look.packed_bytes, look.most_bytes)
    with path.open("rb") as file, GzipFile(fileobj=file) as unpacked:
        for size in _member_sizes(unpacked):
            headers.count(size)
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            # Once more: an extended header may announce another size than the bare one.
            look.count(member.size)
            _check_tar_member(member, look)


def _member_sizes(unpacked: GzipFile) -> Iterator[int]:
    """By the bare headers, before tarfile reads what they announce into memory."""
    while (header := unpacked.read(_BLOCK)) and header.strip(b"\0"):
        if len(header) < _BLOCK:
            raise EOFError("it ends within a header")
        size = tarfile.nti(header[124:136])  # type: ignore[attr-defined]
        if size < 0 or (header[156] in _HEADERS and size > LARGEST_HEADER):
            raise ArchiveRefused("archive_broken", "A header of it is too large.")
        yield size
        _skip(unpacked, -(-size // _BLOCK) * _BLOCK)


def _skip(unpacked: GzipFile, size: int) -> None:
    while size > 0:
        read = len(unpacked.read(min(size, 2**20)))
        if not read:
            raise EOFError("it ends within a member")
        size -= read


def _check_tar_member(member: tarfile.TarInfo, look: _Look) -> None:
    place = look.place(member.name)
    if member.issym() or member.islnk():
        look.link(place, member.linkname, hard=member.islnk())
    elif not (member.isdir() or member.isreg()) or member.issparse():
        raise _refused("special_file", member.name, "is neither file, folder nor link")
    look.taken.add(place)


def _check_zip(path: Path, look: _Look) -> None:
    with path.open("rb") as file:
        _check_directory(file, look.packed_bytes)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            look.count(member.file_size)
            _check_zip_member(member, look)
        if (broken := archive.testzip()) is not None:
            raise _refused("archive_broken", broken, "is damaged")


def _check_directory(file: IO[bytes], size: int) -> None:
    """zipfile reads the list of members into memory before anybody can count them."""
    file.seek(max(0, size - 2**16 - 64))
    tail = file.read()
    at = tail.rfind(_END_OF_ZIP)
    if at < 0:
        raise zipfile.BadZipFile("it has no end")
    (directory_bytes,) = struct.unpack_from("<L", tail, at + 12)
    zip64 = at >= 20 and tail[at - 20 : at - 16] == _LOCATOR_OF_ZIP64
    if zip64 or directory_bytes > LARGEST_DIRECTORY:
        raise ArchiveRefused("too_many_members", "A zip has at most 65,535 members, without zip64.")


def _check_zip_member(member: zipfile.ZipInfo, look: _Look) -> None:
    look.place(member.filename)
    mode = stat.S_IFMT(member.external_attr >> 16)
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused("special_file", member.filename, "is neither file nor folder")
    if member.flag_bits & 0x1 or member.compress_type not in _METHODS:
        raise _refused("archive_broken", member.filename, "is encrypted or packed in an odd way")
