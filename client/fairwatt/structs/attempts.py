"""Tries at a job, and what they print."""

from datetime import datetime

from msgspec import Struct

from fairwatt.structs.words import AttemptState


class Allocation(Struct, frozen=True):
    """One GPU held by an attempt, with its CPUs and memory."""

    node: str
    gpu_index: int
    gpu_uuid: str
    cpus: int
    memory_mib: int
    held_at: datetime
    released_at: datetime | None


class Attempt(Struct, frozen=True):
    """One try at a job."""

    id: int
    job_id: int
    tenant: str
    cluster: str
    round_id: int | None
    number: int
    state: AttemptState
    reason: str
    gpus: int
    clock_mhz: int | None
    offered_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class AttemptDetail(Attempt, frozen=True):
    """An attempt with the GPUs it holds."""

    allocations: list[Allocation]


class LogStream(Struct, frozen=True):
    """One of the streams that a job has printed."""

    attempt: int
    node: str
    stream: str
    size: int
    closed: bool


class LogPage(LogStream, frozen=True):
    """A part of what was printed, and all streams there are."""

    job_id: int
    offset: int
    next_offset: int
    text: str
    streams: list[LogStream]
