"""What a process prints, kept in a file with a cap; imported by shims, so standard library only."""

import contextlib
import os
from pathlib import Path

TAIL_BYTES = 64 * 1024  # the end of a log that outgrew its cap: tracebacks stand there


class CappedLog:
    """The head as it comes, and at the end the last bytes of what was cut."""

    def __init__(self, path: Path, cap: int) -> None:
        self._file = path.open("wb", buffering=0)
        self._room = max(cap - TAIL_BYTES, cap // 2)
        self._tail_room = cap - self._room
        self._tail = bytearray()
        self.dropped = 0

    def write(self, data: bytes) -> None:
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        self._store(head)
        self._tail += rest
        if (excess := len(self._tail) - self._tail_room) > 0:
            self.dropped += excess
            del self._tail[:excess]

    def close(self) -> None:
        self._store(self._tail)
        with contextlib.suppress(OSError):
            if self._file.tell():
                os.fsync(self._file.fileno())
        self._file.close()

    def _store(self, data: bytes | bytearray) -> None:
        """A full disk must not end the attempt; what it has no room for is counted."""
        stored = 0
        with contextlib.suppress(OSError):
            stored = self._file.write(data) or 0
        self.dropped += len(data) - stored
