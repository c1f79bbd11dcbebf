"""Bytes on their way to the service."""

from datetime import datetime

from msgspec import Struct


class Upload(Struct, frozen=True):
    """`stored` with the last byte; until then `offset` is where the next part begins."""

    id: int | None
    digest: str
    size: int
    offset: int
    stored: bool
    part_bytes: int
    expires_at: datetime | None
