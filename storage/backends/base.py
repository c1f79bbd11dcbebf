"""What the service asks of a place for bytes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

CHUNK_BYTES = 256 * 1024


class ObjectMissing(Exception):
    """The database knows of bytes that are not there."""


class Backend(Protocol):
    """Keys are written once with the same bytes, so that a write may be repeated at any time."""

    def put(self, key: str, data: bytes) -> None: ...

    def put_file(self, key: str, path: Path) -> None: ...

    def read(self, key: str, start: int, length: int) -> Iterator[bytes]: ...

    def delete(self, keys: Sequence[str]) -> None:
        """What is not there is deleted already."""
