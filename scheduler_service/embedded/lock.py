"""One holder per directory, known by name; the kernel frees the lock when the last holder dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scheduler_service.embedded.errors import EmbeddedError

# A stack whose supervisor was killed needs about a second to shut its servers down.
PATIENCE_S = 10.0


@contextmanager
def held(directory: Path, *, what: str, patience_s: float = PATIENCE_S) -> Iterator[int]:
    """The locked descriptor. Processes that inherit it share the lock until the last one ends."""
    descriptor = _acquire(directory, what, patience_s)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(directory: Path, what: str, patience_s: float) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience_s
    while not _try_lock(descriptor):
        holder = os.pread(descriptor, 100, 0).decode(errors="replace").strip()
        if _alive(holder) or time.monotonic() > deadline:
            os.close(descriptor)
            raise EmbeddedError(
                f"{what} in {directory} is already running, held by process {holder or 'unknown'}. "
                f"Stop that one first, or choose another directory with FAIRWATT_VAR."
            )
        time.sleep(0.05)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _alive(holder: str) -> bool:
    return holder.isdigit() and Path("/proc", holder).exists()
