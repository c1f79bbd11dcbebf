"""What a job says of itself: `{"step": n}` lines, read as they come and never trusted."""

import json
import os
from pathlib import Path
from typing import Any

from agent.clock import Clock

READ_BYTES = 256 * 1024  # of a longer backlog only the end is read: later lines win anyway
BIGGEST = 2**63 - 1


class Progress:
    """`{"checkpoint": n}` says that the checkpoint of step n is safely written, `{"busy": x}` for
    what share of the time the GPUs compute rather than wait, as a real GPU would show by itself.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._offset = 0
        self._rest = b""
        self.step: int | None = None
        self.step_s = 0.0
        self.checkpoint_step: int | None = None
        self.checkpoint_s: float | None = None
        self.busy = 1.0

    def read(self) -> None:
        try:
            # Not blocking and not following: a job could have put a pipe or a link in its place.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                size = file.seek(0, 2)
                if size - self._offset > READ_BYTES:
                    self._offset, self._rest = size - READ_BYTES, b""
                file.seek(self._offset)
                data = file.read(READ_BYTES)
        except OSError:
            return
        self._offset += len(data)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-READ_BYTES:]
        for line in lines:
            self._take(line)

    def checkpoint_age_s(self, now_s: float) -> float | None:
        return None if self.checkpoint_s is None else max(0.0, now_s - self.checkpoint_s)

    def _take(self, line: bytes) -> None:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(document, dict):
            return
        if (step := _count(document.get("step"))) is not None:
            self.step, self.step_s = step, self._said_s(document)
        if (step := _count(document.get("checkpoint"))) is not None:
            self.checkpoint_step, self.checkpoint_s = step, self._said_s(document)
        if (share := _share(document.get("busy"))) is not None:
            self.busy = share

    def _said_s(self, document: dict[str, Any]) -> float:
        """A job that also gives the boot clock is dated right even after the agent was away."""
        now_s, said_s = self._clock(), document.get("boot_s")
        if isinstance(said_s, int | float) and 0 <= said_s <= now_s:
            return float(said_s)
        return now_s


def _share(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value <= 1 else None


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= BIGGEST else None
