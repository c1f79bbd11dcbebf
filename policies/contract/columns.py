"""Frozen tables of numpy columns, declared once with their dtype and their default."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

Bool = npt.NDArray[np.bool_]
U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


# Two factors below this have a product that an int64 holds.
_SMALL = 2**31
# A table over all codes is quicker than sorting while it is not much longer than the column.
_DENSE = 8


def column(dtype: type[np.generic], *, fill: float | None = None, ndim: int = 1) -> Any:
    """Declare a column; one with a `fill` may be left out when the table is built."""
    return field(metadata={"dtype": dtype, "fill": fill, "ndim": ndim})


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """Columns of one length; build with `of`, which fixes dtypes and forbids later writes."""

    RAGGED: ClassVar[bool] = False

    @classmethod
    def of(cls, **columns: npt.ArrayLike | tuple[str, ...]) -> Self:
        declared = {f.name: f.metadata for f in fields(cls)}
        if unknown := columns.keys() - declared.keys():
            raise TypeError(f"{cls.__name__} has no column {sorted(unknown)}")
        length = len(np.atleast_1d(columns[fields(cls)[0].name]))
        settled = {
            name: _settle(f"{cls.__name__}.{name}", columns.get(name), meta, length)
            for name, meta in declared.items()
        }
        if not cls.RAGGED and (odd := [n for n, v in settled.items() if len(v) != length]):
            raise ValueError(f"{cls.__name__} has {length} rows, but not in {odd}")
        return cls(**settled)

    def __len__(self) -> int:
        names: tuple[str, ...] = self.__match_args__
        return len(getattr(self, names[0]))

    def columns(self) -> Iterator[tuple[str, Any]]:
        for f in fields(self):
            yield f.name, getattr(self, f.name)


def _settle(name: str, given: Any, meta: Any, length: int) -> Any:
    if not meta:
        return tuple(given)
    if given is None:
        if meta["fill"] is None:
            raise TypeError(f"{name} is missing")
        given = np.full(length, meta["fill"])
    values = np.ascontiguousarray(given, dtype=meta["dtype"])
    if values is given:
        values = values.view()
    if values.ndim != meta["ndim"]:
        raise ValueError(f"{name} has {values.ndim} dimensions, not {meta['ndim']}")
    values.flags.writeable = False
    return values


def numbered(*columns: npt.NDArray[Any]) -> tuple[I64, I64]:
    """Rows that agree in all columns get one number, counted by first appearance.

    Returns a row of every number, and every row's number.
    """
    code: I64 = np.zeros(len(columns[0]), np.int64)
    if len(code) <= 1:
        return code, code
    size = 1
    for given in columns:
        values = given.view(np.uint8) if given.dtype == np.bool_ else given
        if values[0] == values[-1] and (values == values[0]).all():
            continue
        low, width = int(values.min()), int(values.max()) - int(values.min()) + 1
        if width < _SMALL:
            kind = (values - values.dtype.type(low)).astype(np.int64)
        else:
            kinds, kind = np.unique(values, return_inverse=True)
            width = len(kinds)
        if size * width >= _SMALL**2:
            numbers, code = np.unique(code, return_inverse=True)
            size = len(numbers)
        code = code * width + kind
        size *= width
    return _by_appearance(code, size)


def _by_appearance(code: I64, size: int) -> tuple[I64, I64]:
    """`numbered` for one column of codes from 0 to below `size`."""
    if size <= _DENSE * len(code):
        # The last write stays, so that backwards every code keeps its first row.
        first = np.full(size, len(code))
        first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
        first = np.sort(first[first < len(code)])
        rank = np.empty(size, np.int64)
        rank[code[first]] = np.arange(len(first))
        return first, rank[code]
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[number]
