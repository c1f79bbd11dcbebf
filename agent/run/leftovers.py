"""What a tenant's attempts leave in the directories that all users of a host share."""

import contextlib
import os
import shutil
from collections.abc import Iterable

SHARED = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108


def remove_leftovers(uid: int, directories: Iterable[str] = SHARED) -> None:
    """Of a uid that no attempt runs as any more; links are removed, never followed."""
    for directory in directories:
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == uid:
                        _remove(entry)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        os.unlink(entry.path)  # noqa: PTH108 - an entry has its path as text
