"""What the agent has promised and done, one fsynced line each, read back after a crash."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent.remember.files import sync_directory, write_whole

Entry = dict[str, Any]
COMPACT_AFTER = 5_000  # lines


class JournalBrokenError(Exception):
    """A line in the middle cannot be read: somebody else wrote into the file."""


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = list(_read(path))
        self.lines = len(self.entries)
        self._descriptor = self._open()

    def append(self, **entry: Any) -> None:
        """On disk when this returns."""
        os.write(self._descriptor, _line(entry))
        os.fsync(self._descriptor)
        self.lines += 1

    def compact(self, entries: Iterable[Entry]) -> None:
        """Begin anew with what still counts; the full story so far stays in journal.1.jsonl."""
        kept = [*entries]
        draft = self.path.with_name("journal.new.jsonl")
        write_whole(draft, b"".join(map(_line, kept)))
        os.close(self._descriptor)
        previous = self.path.with_name("journal.1.jsonl")
        previous.unlink(missing_ok=True)
        # A link, then a replace: at no moment is there no journal.
        os.link(self.path, previous)
        draft.replace(self.path)
        sync_directory(self.path.parent)
        self.lines = len(kept)
        self._descriptor = self._open()

    def close(self) -> None:
        os.close(self._descriptor)

    def _open(self) -> int:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        sync_directory(self.path.parent)
        return descriptor


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _read(path: Path) -> Iterator[Entry]:
    if not path.exists():
        return
    data = path.read_bytes()
    whole, _, torn = data.rpartition(b"\n")
    if torn:
        # The agent died while writing: the line was never promised to anybody.
        os.truncate(path, len(data) - len(torn))
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise JournalBrokenError(f"{path}: line {number} cannot be read") from None
