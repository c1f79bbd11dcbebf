"""What the campaign saw and did, a line each, by all threads, in a file that survives it."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def now_s() -> float:
    """The boot clock, which the jobs' journals go by too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class History:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Line] = list(read_lines(path))
        self._lock = threading.Lock()

    def note(self, event: str, **facts: Any) -> Line:
        line = {"at_s": now_s(), "event": event, **facts}
        with self._lock:
            self.lines.append(line)
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        return line

    def of(self, event: str) -> list[Line]:
        with self._lock:
            return [line for line in self.lines if line["event"] == event]


def read_lines(path: Path) -> Iterator[Line]:
    """Whole lines only: the last may be in the making."""
    if path.exists():
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)
