"""Uploading what attempts print: read where the service wants to go on, until it has all."""

from dataclasses import dataclass
from pathlib import Path

from agent.wire import (
    MAX_CHUNK_BYTES,
    MAX_CHUNKS,
    AttemptRef,
    LogChunk,
    LogsTaken,
    Stream,
)


@dataclass(frozen=True, slots=True)
class LogSource:
    ref: AttemptRef
    directory: Path
    ended: bool


@dataclass(slots=True)
class LogPosition:
    offset: int = 0
    closed: bool = False


class LogUpload:
    """After a restart all begin at 0; the service's first answer says where to go on."""

    def __init__(self) -> None:
        self._positions: dict[tuple[AttemptRef, Stream], LogPosition] = {}

    def chunks(self, sources: list[LogSource]) -> tuple[LogChunk, ...]:
        found: list[LogChunk] = []
        for source in sources:
            for stream in Stream:
                if len(found) < MAX_CHUNKS and (chunk := self._next(source, stream)) is not None:
                    found.append(chunk)
        return tuple(found)

    def taken(self, sent: tuple[LogChunk, ...], answer: LogsTaken) -> None:
        wanted = {(each.attempt_id, each.stream): each for each in answer.offsets}
        for chunk in sent:
            if (offset := wanted.get((chunk.attempt_id, chunk.stream))) is None:
                continue
            end = chunk.offset + len(chunk.data)
            position = self._position(AttemptRef(chunk.attempt_id, chunk.fence), chunk.stream)
            position.offset = offset.offset
            position.closed = offset.closed or (chunk.final and offset.offset == end)

    def close(self, sent: tuple[LogChunk, ...]) -> None:
        """The service wants none of these."""
        for chunk in sent:
            ref = AttemptRef(chunk.attempt_id, chunk.fence)
            self._position(ref, chunk.stream).closed = True

    def finished(self, ref: AttemptRef) -> bool:
        return all(self._position(ref, stream).closed for stream in Stream)

    def forget(self, ref: AttemptRef) -> None:
        for stream in Stream:
            self._positions.pop((ref, stream), None)

    def _next(self, source: LogSource, stream: Stream) -> LogChunk | None:
        position = self._position(source.ref, stream)
        if position.closed:
            return None
        data, at_end = _read(source.directory / f"{stream.value}.log", position)
        final = source.ended and at_end
        if not data and not final:
            return None
        return LogChunk(
            source.ref.attempt_id, source.ref.fence, stream, position.offset, data, final
        )

    def _position(self, ref: AttemptRef, stream: Stream) -> LogPosition:
        return self._positions.setdefault((ref, stream), LogPosition())


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
