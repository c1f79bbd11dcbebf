"""Packs what an attempt leaves behind, as the tenant; standard library only.

Names are looked up from the working directory held open, and links are packed as links: nothing
that lies elsewhere comes along, however the job arranged it.
"""

import contextlib
import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass, field
from gzip import GzipFile
from typing import IO, Any

from agent.files.folders import folder_at

CHUNK_BYTES = 2**20
# Weights do not compress, and text does so at any level.
LEVEL = 1
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class NothingToPackError(Exception):
    """Why there is no such artifact."""


@dataclass(slots=True)
class Spool:
    """Where packed bytes go: counted, summed up, and no more than there is room for."""

    file: IO[bytes]
    most_bytes: int
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > self.most_bytes:
            raise NothingToPackError(f"it is larger than {self.most_bytes >> 20} MiB")
        self.digest.update(data)
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()


def pack(work: int, path: str, file: IO[bytes], *, most_bytes: int) -> dict[str, Any]:
    """Size, digest and whether it is a folder; or why there is nothing."""
    spool = Spool(file, most_bytes)
    *above, last = path.split("/")
    try:
        with folder_at(work, above) as where:
            packed = _pack_one(where, last, path, spool)
        spool.flush()
    except FileNotFoundError:
        return {"fault": f"there is nothing at {path}"}
    except NotADirectoryError:
        return {"fault": f"{path} leads through a link or a file"}
    except NothingToPackError as why:
        return {"fault": f"{path}: {why}"}
    except OSError as error:
        return {"fault": f"{path} cannot be packed: {error.strerror or error}"}
    return {"size": spool.size, "digest": spool.digest.hexdigest(), "packed": packed}


def _pack_one(where: int, last: str, path: str, spool: Spool) -> bool:
    mode = os.stat(last, dir_fd=where, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode):
        with folder_at(where, [last]) as folder:
            _pack_folder(folder, last, spool)
        return True
    if not stat.S_ISREG(mode):
        raise NothingToPackError("neither a file nor a folder")
    with os.fdopen(os.open(last, _READ, dir_fd=where), "rb") as file:
        while data := file.read(CHUNK_BYTES):
            spool.write(data)
    return False


def _pack_folder(folder: int, name: str, spool: Spool) -> None:
    with (
        GzipFile("", "wb", LEVEL, spool, 0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(_info(name, os.stat(folder)))
        for top, folders, files, here in os.fwalk(".", dir_fd=folder):
            folders.sort()
            for each in sorted([*folders, *files]):
                _add(archive, os.path.normpath(f"{name}/{top}/{each}"), each, here)


def _add(archive: tarfile.TarFile, place: str, name: str, here: int) -> None:
    """Pipes, sockets and devices are left out; so is what went away meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=here, follow_symlinks=False)
        info = _info(place, found)
        if stat.S_ISLNK(found.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=here)
            archive.addfile(info)
        elif stat.S_ISDIR(found.st_mode):
            archive.addfile(info)
        elif stat.S_ISREG(found.st_mode):
            with os.fdopen(os.open(name, _READ, dir_fd=here), "rb") as file:
                info.size = os.fstat(file.fileno()).st_size
                archive.addfile(info, file)


def _info(place: str, found: os.stat_result) -> tarfile.TarInfo:
    """Whose it was on the node means nothing to who fetches it."""
    info = tarfile.TarInfo(place)
    info.mode, info.mtime = stat.S_IMODE(found.st_mode) & 0o755, int(found.st_mtime)
    if stat.S_ISDIR(found.st_mode):
        info.type = tarfile.DIRTYPE
    return info
