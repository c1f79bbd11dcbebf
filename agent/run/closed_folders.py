"""Ways to what an attempt needs, through folders that are closed to its user.

Such a folder, as a home with mode 0700, is put together anew in a mount namespace of the attempt's
own: it holds what the attempt needs and nothing else. Outside nothing changes, no mode either.
Imported by shims, so standard library only.
"""

import ctypes
import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
# A few folders and mount points.
TMPFS = b"mode=755,size=1m"

_libc = ctypes.CDLL(None, use_errno=True)


def closed_above(path: Path, uid: int) -> Path | None:
    """The outermost folder on the way to a path that the user may not pass through."""
    for each in filter(Path.exists, reversed(path.parents)):
        found = each.stat()
        if found.st_uid != uid and not found.st_mode & stat.S_IXOTH:
            return each
    return None


def ways(paths: Iterable[Path], uid: int) -> dict[str, list[str]]:
    """By closed folder, what of it the user must get to."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(set(paths)):
        if path.exists() and (closed := closed_above(path, uid)):
            found[str(closed)].append(str(path))
    return dict(found)


def open_ways(wanted: dict[str, list[str]]) -> None:
    """For this process and its children, by root; OSError where that is not allowed."""
    _own_mounts()
    for folder, paths in wanted.items():
        # Held before they are covered.
        held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in paths]
        _mount("tmpfs", folder, MS_NOSUID | MS_NODEV, "tmpfs", TMPFS)
        for path, descriptor in held:
            _make_place(Path(path), os.fstat(descriptor).st_mode)
            _mount(f"/proc/self/fd/{descriptor}", path, MS_BIND | MS_REC)
            os.close(descriptor)
        _mount(None, folder, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, "tmpfs", TMPFS)


def can_open_ways() -> bool:
    """Tried in a process of its own, which then ends."""
    child = os.fork()
    if child == 0:
        try:
            _own_mounts()
            _mount("tmpfs", "/", MS_NOSUID | MS_NODEV, "tmpfs", TMPFS)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _own_mounts() -> None:
    if _libc.unshare(CLONE_NEWNS) != 0:
        raise _error("unshare")
    _mount(None, "/", MS_REC | MS_PRIVATE)


def _make_place(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    else:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.touch(mode=0o644)


def _mount(
    source: str | None, target: str, flags: int, kind: str | None = None, options: bytes = b""
) -> None:
    texts = [None if each is None else os.fsencode(each) for each in (source, target, kind)]
    if _libc.mount(*texts, ctypes.c_ulong(flags), options or None) != 0:
        raise _error(f"mount on {target}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
