"""Rows of a trace file and their cells, read with the line, the field and what was expected."""

import csv
import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from zoneinfo import ZoneInfo


class TraceError(Exception):
    """A file that can not be read at all: where, and what was expected."""

    def __init__(self, path: Path, line: int, field: str, expected: str) -> None:
        super().__init__(f"{path}:{line}: {field}: expected {expected}")
        self.path, self.line, self.field, self.expected = path, line, field, expected


class CellError(Exception):
    """A row that can not be used because of one field."""

    def __init__(self, field: str, value: str, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}, found {value[:60]!r}")
        self.field, self.value, self.expected = field, value, expected


class SkipRow(Exception):
    """Not an error: a row that is no job for us, for a reason that many rows share."""


class TraceRow:
    """Cells by column name."""

    __slots__ = ("_cells", "line")

    def __init__(self, line: int, cells: Mapping[str, str]) -> None:
        self.line = line
        self._cells = cells

    def has(self, field: str) -> bool:
        return field in self._cells

    def text(self, field: str) -> str:
        """A missing field is an empty one."""
        return (self._cells.get(field) or "").strip()

    def number(self, field: str, *, low: float = -math.inf, above: float = -math.inf) -> float:
        try:
            value = float(self.text(field))
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= low and value > above):
            bound = f" above {above:g}" if above > -math.inf else ""
            bound = f" of at least {low:g}" if low > -math.inf else bound
            raise CellError(field, self.text(field), f"a number{bound}")
        return value

    def whole(self, field: str, *, low: int = 0) -> int:
        value = self.number(field)
        if value != int(value) or value < low:
            raise CellError(field, self.text(field), f"a whole number of at least {low}")
        return int(value)

    def time_s(self, field: str, zone: ZoneInfo) -> float:
        """ISO 8601 as seconds since the epoch; without an offset it is read in `zone`."""
        try:
            written_at = datetime.fromisoformat(self.text(field))
        except ValueError:
            raise CellError(field, self.text(field), "an ISO 8601 time") from None
        if written_at.tzinfo is None:
            written_at = written_at.replace(tzinfo=UTC if zone.key == "UTC" else zone)
        return written_at.timestamp()


@contextmanager
def opened(path: Path, errors: str = "strict") -> Iterator[IO[str]]:
    """Text of a file, unpacked when its name ends in .gz; `errors` as Python's codecs have them."""
    if not path.is_file():
        raise TraceError(path, 0, "file", "a file that is there")
    opening = gzip.open if path.suffix == ".gz" else open
    with opening(path, "rt", encoding="utf-8", errors=errors) as file:
        yield file


def csv_rows(
    path: Path,
    needed: Sequence[str],
    *,
    delimiter: str = ",",
    columns: Sequence[str] | None = None,
) -> Iterator[TraceRow]:
    """Rows of a file with a header, or of one without whose `columns` are known."""
    with opened(path) as file:
        reader = csv.DictReader(file, delimiter=delimiter, fieldnames=columns)
        there = [name.strip() for name in reader.fieldnames or ()]
        for name in needed:
            if name not in there:
                raise TraceError(path, 1, name, f"a column of that name beside {there}")
        reader.fieldnames = there
        for cells in reader:
            if None in cells or None in cells.values():
                yield TraceRow(reader.line_num, {})
            else:
                yield TraceRow(reader.line_num, cells)
