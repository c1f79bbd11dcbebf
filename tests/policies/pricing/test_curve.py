"""Questions to a curve, checked by hand and against second-by-second sums."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.pricing.curve import PriceCurve, PriceWindow


def curve_of(edges_s: list[int], prices: list[str | None]) -> PriceCurve:
    exact = [None if price is None else Decimal(price) for price in prices]
    return PriceCurve.piecewise(np.array(edges_s), exact)


@pytest.fixture
def day() -> PriceCurve:
    """Dear from 100 to 200, cheap until 300, unknown until 400, middling until 500."""
    return curve_of([100, 200, 300, 400, 500], ["0.30", "0.10", None, "0.20"])


prices = st.none() | st.decimals(-5, 5, places=2)


@st.composite
def curves(draw: st.DrawFn) -> PriceCurve:
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=8))
    start_s = draw(st.integers(-20, 20))
    edges_s = np.cumsum([start_s, *lengths])
    some = draw(st.lists(prices, min_size=len(lengths), max_size=len(lengths)))
    return PriceCurve.piecewise(edges_s, some)


moments = st.integers(-40, 120)


def test_price_is_constant_between_edges_and_unknown_elsewhere(day: PriceCurve) -> None:
    found = day.price_at([99, 100, 199.9, 200, 299, 300, 400, 499, 500])
    nan = np.nan
    np.testing.assert_array_equal(found, [nan, 0.3, 0.3, 0.1, 0.1, nan, 0.2, 0.2, nan])


def test_a_single_time_gives_a_single_price(day: PriceCurve) -> None:
    assert float(day.price_at(150)) == 0.3


def test_equal_neighbours_are_merged() -> None:
    merged = curve_of([0, 10, 20, 30, 40], ["1", "1.0", None, None])
    assert merged.edges_s.tolist() == [0, 20, 40]
    assert merged.exact_prices == (Decimal(1), None)


@pytest.mark.parametrize(
    ("edges_s", "some"),
    [([], []), ([0], []), ([0, 10], []), ([0, 10, 10], ["1", "2"]), ([10, 0], ["1"])],
)
def test_edges_must_ascend_around_prices(edges_s: list[int], some: list[str | None]) -> None:
    with pytest.raises(ValueError, match="ascending edges"):
        curve_of(edges_s, some)


def test_arrays_of_a_curve_cannot_be_changed(day: PriceCurve) -> None:
    with pytest.raises(ValueError, match="read-only"):
        day.prices[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        day.edges_s[0] = 0


def test_integral_adds_parts_and_refuses_the_unknown(day: PriceCurve) -> None:
    found = day.integral([150, 150, 250, 100, 400, 99, 450], [200, 250, 301, 300, 500, 150, 501])
    nan = np.nan
    np.testing.assert_allclose(found, [15.0, 20.0, nan, 40.0, 20.0, nan, nan], rtol=1e-12)


def test_nothing_costs_nothing_even_where_the_price_is_unknown(day: PriceCurve) -> None:
    np.testing.assert_array_equal(day.integral([350, 50, 600], [350, 50, 600]), [0, 0, 0])


def test_an_interval_that_ends_before_it_starts_is_refused(day: PriceCurve) -> None:
    with pytest.raises(ValueError, match="ends before"):
        day.integral([100, 200], [150, 199])


def test_a_kilowatt_for_an_hour_costs_the_price_of_a_kilowatt_hour() -> None:
    hours = curve_of([0, 3600, 7200], ["0.25", "0.75"])
    np.testing.assert_allclose(hours.cost([1000, 500, 1000], 0, [3600, 7200, 7200]), [0.25, 0.5, 1])


def test_next_change_is_strictly_later_and_never_invented(day: PriceCurve) -> None:
    found = day.next_change([0, 100, 199.5, 200, 300, 400, 499, 900])
    inf = np.inf
    np.testing.assert_array_equal(found, [100, 200, 200, 300, 400, inf, inf, inf])


def test_windows_cover_everything_and_mark_the_unknown(day: PriceCurve) -> None:
    assert list(day.windows(50, 520.5)) == [
        PriceWindow(50, 100, None),
        PriceWindow(100, 200, Decimal("0.30")),
        PriceWindow(200, 300, Decimal("0.10")),
        PriceWindow(300, 400, None),
        PriceWindow(400, 500, Decimal("0.20")),
        PriceWindow(500, 520.5, None),
    ]


def test_windows_inside_one_price_beyond_and_empty(day: PriceCurve) -> None:
    assert list(day.windows(210, 220)) == [PriceWindow(210, 220, Decimal("0.10"))]
    assert list(day.windows(10, 20)) == [PriceWindow(10, 20, None)]
    assert list(day.windows(600, 700)) == [PriceWindow(600, 700, None)]
    assert [list(day.windows(t, t)) for t in (10, 100, 150, 500, 600)] == [[]] * 5


@given(curves(), moments, moments)
def test_integral_is_the_sum_over_windows(curve: PriceCurve, one: int, other: int) -> None:
    t0, t1 = sorted((one, other))
    parts = list(curve.windows(t0, t1))
    assert [part.start_s for part in parts[1:]] == [part.end_s for part in parts[:-1]]
    assert all(a.price is None or a.price != b.price for a, b in pairwise(parts))
    assert sum(part.end_s - part.start_s for part in parts) == t1 - t0
    found = float(curve.integral(t0, t1))
    if any(part.price is None for part in parts):
        assert np.isnan(found)
    else:
        exact = sum(Decimal(part.end_s - part.start_s) * (part.price or 0) for part in parts)
        assert found == pytest.approx(float(exact), abs=1e-9)


@given(curves(), moments)
def test_price_and_changes_agree_with_windows(curve: PriceCurve, t: int) -> None:
    (here,) = curve.windows(t, t + 1)
    price, change = float(curve.price_at(t)), float(curve.next_change(t))
    assert np.isnan(price) if here.price is None else price == float(here.price)
    later = (s for s in range(t + 1, 121) if not _same(curve, s, s - 1) and s < curve.end_s)
    # The start of the curve is an edge even if its first part is unknown.
    first = next(later, np.inf)
    assert change == (min(first, curve.start_s) if t < curve.start_s else first)


def _same(curve: PriceCurve, one: int, other: int) -> bool:
    return bool(np.array_equal(curve.price_at([one]), curve.price_at([other]), equal_nan=True))
