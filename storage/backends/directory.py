"""Bytes as files below one directory, which all processes of the service share."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from storage.backends.base import CHUNK_BYTES, ObjectMissing


class DirectoryBackend:
    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def put(self, key: str, data: bytes) -> None:
        self._write(key, lambda file: file.write_bytes(data))

    def put_file(self, key: str, path: Path) -> None:
        self._write(key, lambda file: shutil.copyfile(path, file))

    def read(self, key: str, start: int, length: int) -> Iterator[bytes]:
        try:
            file = self._path(key).open("rb")
        except FileNotFoundError:
            raise ObjectMissing(key) from None
        with file:
            file.seek(start)
            while length > 0 and (chunk := file.read(min(CHUNK_BYTES, length))):
                length -= len(chunk)
                yield chunk

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            path = self._path(key)
            path.unlink(missing_ok=True)
            _remove_if_empty(path.parent)

    def _path(self, key: str) -> Path:
        return self._root / key

    def _write(self, key: str, fill: Callable[[Path], object]) -> None:
        """Whole or not at all, also when two write the same key at once."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            fill(draft)
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def _remove_if_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        return
