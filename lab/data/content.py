"""Content and its checksum: of a .gz file what is in it, because compressors differ."""

import gzip
import hashlib
import zlib
from enum import StrEnum
from io import BufferedIOBase
from pathlib import Path

from lab.data.errors import WrongContent
from lab.data.manifest import DataFile

CHUNK_BYTES = 1 << 20


class FileState(StrEnum):
    PRESENT = "present"
    MISSING = "missing"
    WRONG = "wrong checksum"


def state_of(file: DataFile, directory: Path) -> FileState:
    path = directory / file.path
    if not path.is_file():
        return FileState.MISSING
    try:
        check_content(file, path, packed=is_packed(file.path))
    except WrongContent:
        return FileState.WRONG
    return FileState.PRESENT


def is_packed(path: str) -> bool:
    return path.endswith(".gz")


def check_content(file: DataFile, path: Path, *, packed: bool) -> None:
    with gzip.open(path) if packed else path.open("rb") as content:
        try:
            size_bytes, sha256 = _digest(content, file.size_bytes)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise WrongContent(f"{file.path}: not a whole gzip file ({error})") from error
    if size_bytes != file.size_bytes:
        found = "more" if size_bytes > file.size_bytes else size_bytes
        raise WrongContent(f"{file.path}: expected {file.size_bytes} bytes, found {found}")
    if sha256 != file.sha256:
        raise WrongContent(f"{file.path}: expected sha256 {file.sha256}, found {sha256}")


def _digest(content: BufferedIOBase, most_bytes: int) -> tuple[int, str]:
    """Stops once there is too much, so that a small gzip file cannot unpack to terabytes."""
    digest, size_bytes = hashlib.sha256(), 0
    while size_bytes <= most_bytes and (chunk := content.read(CHUNK_BYTES)):
        size_bytes += len(chunk)
        digest.update(chunk)
    return size_bytes, digest.hexdigest()


def pack(path: Path, target: Path) -> None:
    """Gzip without name and time, so that the same content gives the same file."""
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
