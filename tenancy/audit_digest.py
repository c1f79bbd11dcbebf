"""What a row of the audit hashes to; plain Python, so that an export is checked anywhere."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

# What stands before the first row.
GENESIS = "0" * 64
# Whole numbers, texts and nulls, which every language reads alike: `changes` is Postgres's text.
Content = Mapping[str, Any]


def row_digest(previous: str, row: Content) -> str:
    """Over the row and the digest before it."""
    text = json.dumps(dict(row), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def broken_line(lines: Iterable[str], previous: str | None = None) -> int | None:
    """The number of the first line of an export that is not as it was sealed; None is all well.

    `previous` is the digest that the first line has to follow, if one is known.
    """
    for number, line in enumerate(lines, 1):
        row = json.loads(line)
        before, digest = row.pop("previous_digest"), row.pop("digest")
        if before != (previous or before) or digest != row_digest(before, row):
            return number
        previous = digest
    return None
