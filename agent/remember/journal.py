"""What the agent has promised and done, one line each, read back after a crash."""

import json
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent.remember.disk import reserve
from agent.remember.files import sync_directory, write_whole

Entry = dict[str, Any]
COMPACT_AFTER = 5_000  # lines
COMPACT_AGAIN_AFTER = 500  # lines, if there was no room for it
RESERVE_BYTES = 2**20  # more than the ends of all attempts that a node may hold

log = logging.getLogger("fairwatt.agent")


class JournalBrokenError(Exception):
    """A line in the middle cannot be read: somebody else wrote into the file."""


class Journal:
    """Blocks behind its end are held in advance: what runs on a full disk can still be ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = list(_read(path))
        self.lines = len(self.entries)
        self._descriptor = self._open()

    @property
    def has_room(self) -> bool:
        """Whether the room behind the end is as large as it should be."""
        return self._reserved - self._size >= RESERVE_BYTES // 2 or self._reserve()

    def append(self, *, synced: bool = True, **entry: Any) -> None:
        """`synced`: on disk when this returns, else with the next that is."""
        line = _line(entry)
        written = os.write(self._descriptor, line)
        if written < len(line):
            # Half a line would make the next one unreadable.
            os.ftruncate(self._descriptor, self._size)
            raise OSError(f"no room for a line of {self.path}")
        if synced:
            os.fdatasync(self._descriptor)
        self._size += written
        self.lines += 1

    def compact(self, entries: Iterable[Entry]) -> None:
        """Begin anew with what still counts; the full story so far stays in journal.1.jsonl."""
        kept = [*entries]
        draft = self.path.with_name("journal.new.jsonl")
        try:
            write_whole(draft, b"".join(map(_line, kept)))
        except OSError as error:
            log.warning("the journal is not compacted: %s", error)
            draft.with_name(draft.name + ".draft").unlink(missing_ok=True)
            self.lines = COMPACT_AFTER - COMPACT_AGAIN_AFTER
            return
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
        self._size = self._reserved = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._reserve()
        return descriptor

    def _reserve(self) -> bool:
        room = reserve(self._descriptor, self._size, RESERVE_BYTES)
        if room:
            self._reserved = self._size + RESERVE_BYTES
        return room


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
