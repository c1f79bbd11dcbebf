"""Archives as tests want them, good and bad."""

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, data: bytes = b"print(1)\n") -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def special(name: str, kind: bytes, target: str = "") -> Member:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def tar_gz(*members: Member) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def zipped(fill: Callable[[zipfile.ZipFile], object]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        fill(archive)
    return packed.getvalue()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
