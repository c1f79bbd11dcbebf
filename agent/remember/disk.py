"""Room on the node's disk: held in advance for what must be written, and looked at."""

import ctypes
import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

FALLOC_FL_KEEP_SIZE = 1  # linux/falloc.h
# Below this a node takes no new work: attempts write logs, and most write checkpoints beside them.
LEAST_FREE_BYTES = 64 * 2**20
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def reserve(descriptor: int, offset: int, size: int) -> bool:
    """Hold blocks behind the end of a file, so that writing there cannot fail for want of space.

    False if there is no room. A file system that cannot hold any says nothing about room.
    """
    if _libc.fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, size) == 0:
        return True
    return ctypes.get_errno() not in FULL


def write_in_place(path: Path, data: bytes, size: int, *, mode: int = 0o644) -> None:
    """Over what is there, filled up with spaces: once the file is there, no further room is needed.

    A reader may see half of it, and must be one who notices: half of a JSON document is none.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, mode)
    try:
        os.pwrite(descriptor, data.ljust(size), 0)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Of the file system that the agent's state is on."""

    path: Path
    least_bytes: int = LEAST_FREE_BYTES

    def free(self) -> int:
        return shutil.disk_usage(self.path).free

    def shortage(self) -> str:
        """Why no work should start; empty if there is room."""
        free = self.free()
        if free >= self.least_bytes:
            return ""
        return (
            f"the node's disk is full: {free >> 20} MiB free at {self.path},"
            f" {self.least_bytes >> 20} MiB needed to start work"
        )
