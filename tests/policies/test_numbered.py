"""Rows that agree in all columns get one number, counted by first appearance."""

import numpy as np
import pytest

from policies.contract.columns import numbered
from policies.contract.snapshot import ANY_GPU_TYPE


@pytest.mark.parametrize("rows", [0, 1, 2, 50])
def test_numbers_are_those_of_a_dictionary(rows: int) -> None:
    random = np.random.default_rng(rows)
    wide = np.array([0, 7, 2**40, -(2**40)])
    columns = (
        random.integers(-1, 2, rows).astype(np.int32),
        random.choice(np.array([ANY_GPU_TYPE, 1, 2], np.uint64), rows),
        random.choice(wide, rows),
        random.choice(wide, rows),
        random.integers(0, 2**30, rows) * random.integers(2, size=rows),
        random.integers(2, size=rows).astype(np.bool_),
        np.full(rows, 5, np.uint8),
    )
    known: dict[tuple[int, ...], int] = {}
    each = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = [known.setdefault(row, len(known)) for row in each]
    first, number = numbered(*columns)
    assert number.tolist() == expected
    assert [each[row] for row in first.tolist()] == list(known)
