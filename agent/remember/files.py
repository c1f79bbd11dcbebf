"""Files that are whole or not there at all."""

import json
import os
from pathlib import Path
from typing import Any


def write_whole(path: Path, data: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
    """Replace a file in one step; `durable` waits for the disk, else only a crash is survived."""
    draft = path.with_name(path.name + ".draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    draft.replace(path)
    if durable:
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path) -> Any:
    """The document, or None where there is no file or no whole document in it."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
