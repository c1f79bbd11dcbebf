"""Reads a query straight into numpy columns: rows as Python objects cost most of a round."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from django.db import connection

Rows = npt.NDArray[Any]

# Of Postgres' binary COPY format: an 11-byte signature, two int32, then rows, then int16 -1.
_HEADER_BYTES = 19
_TRAILER_BYTES = 2
_SQL_TYPES = {"i8": "int8", "f8": "float8"}


class Column(NamedTuple):
    """A column's name, its kind and how SQL says it, which is never NULL.

    `second` says it in the second half of a UNION, where that differs.
    """

    name: str
    kind: Literal["i8", "f8"]
    sql: str
    second: str = ""


class Query(NamedTuple):
    """`text` selects the columns, listed by `selected`; its braces are filled in at every read."""

    columns: Sequence[Column]
    text: str

    def read(self, **values: float) -> Rows:
        """The rows as a structured array.

        Fixed widths make every row the same size, so the whole answer is decoded by one view.
        """
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY ({self.text.format(**values)}) TO STDOUT (FORMAT BINARY)") as copy,
        ):
            raw = b"".join(copy)
        fields: list[tuple[str, str]] = [("_fields", ">i2")]
        for column in self.columns:
            fields += [(f"_{column.name}_bytes", ">i4"), (column.name, f">{column.kind}")]
        rows = np.frombuffer(raw[_HEADER_BYTES:-_TRAILER_BYTES], dtype=np.dtype(fields))
        self._refuse_nulls(rows)
        return rows

    def _refuse_nulls(self, rows: Rows) -> None:
        for column in self.columns:
            if np.any(rows[f"_{column.name}_bytes"] != 8):
                raise ValueError(f"column {column.name} has a NULL")


def selected(columns: Sequence[Column]) -> str:
    """The columns as a SELECT lists them."""
    return ", ".join(_item(column, column.sql) for column in columns)


def second_selected(columns: Sequence[Column]) -> str:
    return ", ".join(_item(column, column.second or column.sql) for column in columns)


def _item(column: Column, sql: str) -> str:
    return f"({sql})::{_SQL_TYPES[column.kind]} AS {column.name}"
