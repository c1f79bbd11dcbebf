"""Parts of a counter's line add up to the whole, whatever was read in between."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.ledger.line import GAP_US, Line

S = 1_000_000


def test_energy_is_where_it_was_read() -> None:
    line = Line.between((0, 100), (10 * S, 200), [(4 * S, 190)])
    assert [line.mj_at(t * S) for t in (0, 2, 4, 7, 10)] == [100, 145, 190, 195, 200]


def test_before_and_after_is_the_ends() -> None:
    line = Line.between((5 * S, 100), (10 * S, 200), [])
    assert (line.mj_at(0), line.mj_at(99 * S)) == (100, 200)


def test_readings_beyond_the_ends_or_falling_are_bent_back() -> None:
    line = Line.between((5 * S, 100), (10 * S, 200), [(4 * S, 90), (7 * S, 180), (8 * S, 150)])
    assert (line.mj_at(5 * S), line.mj_at(7 * S), line.mj_at(8 * S)) == (100, 180, 180)


def test_readings_bent_back_to_the_start_take_nothing_from_the_sum() -> None:
    line = Line.between((5 * S, 100), (10 * S, 200), [(3 * S, 120), (4 * S, 130)])
    assert line.mj_at(10 * S) - line.mj_at(5 * S) == 100


@given(
    st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 2**60)), max_size=20),
    st.lists(st.integers(0, 10**12), max_size=10),
    st.integers(0, 2**60),
)
def test_parts_add_up(readings: list[tuple[int, int]], cuts: list[int], end_mj: int) -> None:
    line = Line.between((0, 0), (10**12, end_mj), readings)
    edges = [0, *sorted(cuts), 10**12]
    parts = [line.mj_at(b) - line.mj_at(a) for a, b in pairwise(edges)]
    assert sum(parts) == end_mj
    assert all(part >= 0 for part in parts)


@pytest.mark.parametrize(
    ("readings", "coverage"),
    [
        ([(t * S, t) for t in range(0, 601, 10)], 1.0),
        ([], 0.0),
        ([(t * S, t) for t in range(0, 301, 10)], 0.5),
    ],
)
def test_coverage_is_the_share_of_time_with_readings(
    readings: list[tuple[int, int]], coverage: float
) -> None:
    line = Line.between((0, 0), (600 * S, 600), readings)
    assert line.coverage(0, 600 * S) == pytest.approx(coverage)


def test_a_window_beyond_the_line_is_covered() -> None:
    line = Line.between((0, 0), (GAP_US * 10, 5), [])
    assert line.coverage(GAP_US * 10, GAP_US * 20) == 1.0
