"""A folder as an archive: the same bytes for the same files, so that it is stored once."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from fairwatt.errors import FairwattError

# What no job needs, and what would make every archive another one.
LEFT_OUT = frozenset({".git", ".hg", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache"})


@dataclass(frozen=True, slots=True)
class PackedFolder:
    digest: str
    data: bytes


def packed(folder: Path) -> PackedFolder:
    """The folder's files as tar.gz, without times and owners."""
    if not folder.is_dir():
        raise FairwattError(f"{folder} is no folder.", "Name the folder with the job's code.")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if LEFT_OUT.isdisjoint(inside.parts):
                tar.add(path, arcname=str(inside), recursive=False, filter=_nameless)
    data = gzip.compress(plain.getvalue(), mtime=0)
    return PackedFolder(hashlib.sha256(data).hexdigest(), data)


def _nameless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
