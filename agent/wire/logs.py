"""What attempts print, in chunks; the offset the service acknowledges rules."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from agent.wire.bounds import Count, Fence, Id
from agent.wire.codec import Bytes, Items

MAX_CHUNK_BYTES = 64 * 1024
MAX_CHUNKS = 16


class Stream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


@dataclass(frozen=True, slots=True)
class LogChunk:
    attempt_id: Id
    fence: Fence
    stream: Stream
    offset: Count
    data: Annotated[bytes, Bytes(MAX_CHUNK_BYTES)]
    final: bool = False  # nothing follows after this chunk


@dataclass(frozen=True, slots=True)
class Logs:
    epoch: Id
    chunks: Annotated[tuple[LogChunk, ...], Items(MAX_CHUNKS)]


@dataclass(frozen=True, slots=True)
class LogOffset:
    """The next byte the service wants of a stream; `closed`: it wants no more of it."""

    attempt_id: Id
    stream: Stream
    offset: Count
    closed: bool = False


@dataclass(frozen=True, slots=True)
class LogsTaken:
    offsets: Annotated[tuple[LogOffset, ...], Items(MAX_CHUNKS)]
