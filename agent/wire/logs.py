"""What attempts print, in chunks; the offset the service acknowledges rules."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from agent.wire.bounds import MAX_RANK, Count, Fence, Id
from agent.wire.message import AgentMessage, ServiceMessage

MAX_CHUNK_BYTES = 64 * 1024
MAX_CHUNKS = 16


class Stream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


Rank = Annotated[int, Meta(ge=0, le=MAX_RANK)]


class LogPiece(AgentMessage, frozen=True):
    attempt_id: Id
    fence: Fence
    stream: Stream
    offset: Count
    data: Annotated[bytes, Meta(max_length=MAX_CHUNK_BYTES)]
    final: bool = False  # nothing follows after this chunk
    rank: Rank | None = None  # whose stream it is; null: of all processes on the node together


class Logs(AgentMessage, frozen=True):
    epoch: Id
    chunks: Annotated[tuple[LogPiece, ...], Meta(max_length=MAX_CHUNKS)]


class LogOffset(ServiceMessage, frozen=True):
    """The next byte the service wants of a stream; `closed`: it wants no more of it."""

    attempt_id: Id
    stream: Stream
    offset: Count
    closed: bool = False
    rank: Rank | None = None


class LogsTaken(ServiceMessage, frozen=True):
    offsets: Annotated[tuple[LogOffset, ...], Meta(max_length=MAX_CHUNKS)]
