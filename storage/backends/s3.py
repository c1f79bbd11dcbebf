"""Bytes as objects in a bucket of an S3-compatible server."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import obstore
from obstore.store import S3Store

from storage.backends.base import CHUNK_BYTES, ObjectMissing

# One request of this size at a time: neither a request per chunk nor a whole blob in memory.
_READ_BYTES = 8 * 1024 * 1024


class S3Backend:
    def __init__(
        self,
        bucket: str,
        prefix: str,
        *,
        endpoint: str,
        region: str,
        access_key_id: str,
        secret_access_key: str,
    ) -> None:
        given = {
            "endpoint": endpoint,
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
        }
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            region=region,
            virtual_hosted_style_request=False,
            client_options={"allow_http": endpoint.startswith("http://")},
            **{name: value for name, value in given.items() if value},  # type: ignore[arg-type]
        )

    def put(self, key: str, data: bytes) -> None:
        obstore.put(self._store, key, data)

    def put_file(self, key: str, path: Path) -> None:
        obstore.put(self._store, key, path)

    def read(self, key: str, start: int, length: int) -> Iterator[bytes]:
        end = start + length
        for at in range(start, end, _READ_BYTES):
            try:
                found = obstore.get_range(
                    self._store, key, start=at, end=min(at + _READ_BYTES, end)
                )
            except FileNotFoundError:
                raise ObjectMissing(key) from None
            whole = memoryview(found)
            for chunk in range(0, len(whole), CHUNK_BYTES):
                yield bytes(whole[chunk : chunk + CHUNK_BYTES])

    def delete(self, keys: Sequence[str]) -> None:
        if keys:
            obstore.delete(self._store, list(keys))
