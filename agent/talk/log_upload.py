"""Uploading what attempts print: read where the service wants to go on, until it has all."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agent.run.environment import log_file, ranks_with_logs
from agent.wire import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    AttemptRef,
    LogPiece,
    LogsTaken,
    Stream,
)


@dataclass(frozen=True, slots=True)
class LogSource:
    ref: AttemptRef
    directory: Path
    ended: bool


class LogKey(NamedTuple):
    """One file: of an attempt, a rank of it (None: all there is) and a stream."""

    attempt_id: int
    rank: int | None
    stream: Stream


@dataclass(slots=True)
class LogPosition:
    offset: int = 0
    closed: bool = False


class LogUpload:
    """After a restart all begin at 0; the service's first answer says where to go on."""

    def __init__(self) -> None:
        self._positions: dict[AttemptRef, dict[LogKey, LogPosition]] = {}

    def chunks(self, sources: list[LogSource]) -> tuple[LogPiece, ...]:
        found: list[LogPiece] = []
        for source in sources:
            for key in _keys(source):
                if len(found) < MAX_CHUNKS and (chunk := self._next(source, key)) is not None:
                    found.append(chunk)
        return tuple(found)

    def taken(self, sent: tuple[LogPiece, ...], answer: LogsTaken) -> None:
        wanted = {LogKey(each.attempt_id, each.rank, each.stream): each for each in answer.offsets}
        for chunk in sent:
            if (offset := wanted.get(_key(chunk))) is None:
                continue
            end = chunk.offset + len(chunk.data)
            position = self._position(AttemptRef(chunk.attempt_id, chunk.fence), _key(chunk))
            position.offset = offset.offset
            position.closed = offset.closed or (chunk.final and offset.offset == end)

    def close(self, sent: tuple[LogPiece, ...]) -> None:
        """The service wants none of these."""
        for chunk in sent:
            ref = AttemptRef(chunk.attempt_id, chunk.fence)
            self._position(ref, _key(chunk)).closed = True

    def finished(self, ref: AttemptRef) -> bool:
        positions = self._positions.get(ref, {})
        return bool(positions) and all(each.closed for each in positions.values())

    def forget(self, ref: AttemptRef) -> None:
        self._positions.pop(ref, None)

    def _next(self, source: LogSource, key: LogKey) -> LogPiece | None:
        position = self._position(source.ref, key)
        if position.closed:
            return None
        data, at_end = _read(source.directory / log_file(key.stream, key.rank), position)
        final = source.ended and at_end
        if not data and not final:
            return None
        return LogPiece(
            source.ref.attempt_id,
            source.ref.fence,
            key.stream,
            position.offset,
            data,
            final,
            rank=key.rank,
        )

    def _position(self, ref: AttemptRef, key: LogKey) -> LogPosition:
        return self._positions.setdefault(ref, {}).setdefault(key, LogPosition())


def _keys(source: LogSource) -> Iterator[LogKey]:
    # Of one that ended without any, as when it was refused, the end is said all the same.
    for rank in ranks_with_logs(source.directory) or ((None,) if source.ended else ()):
        for stream in Stream:
            yield LogKey(source.ref.attempt_id, rank, stream)


def _key(chunk: LogPiece) -> LogKey:
    return LogKey(chunk.attempt_id, chunk.rank, chunk.stream)


def _read(path: Path, position: LogPosition) -> tuple[bytes, bool]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            # Beyond the end there is nothing to go on with: the last byte was acknowledged.
            position.offset = min(position.offset, size)
            file.seek(position.offset)
            data = file.read(MAX_CHUNK_BYTES)
            return data, position.offset + len(data) >= size
    except FileNotFoundError:
        position.offset = 0
        return b"", True
