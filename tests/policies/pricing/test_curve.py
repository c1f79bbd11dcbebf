"""Questions to a curve, checked by hand and against second-by-second sums."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
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


def test_next_below_is_now_if_it_is_cheap_already(day: PriceCurve) -> None:
    assert float(day.next_below(250, 0.15)) == 250
    assert float(day.next_below(150, 0.15)) == 200
    assert float(day.next_below(0, 0.5)) == 100


def test_next_below_means_strictly_cheaper_and_known(day: PriceCurve) -> None:
    found = day.next_below([150, 150, 300, 310, 310], [0.30, 0.10, 0.30, 0.20, 0.21])
    np.testing.assert_array_equal(found, [200, np.inf, 400, np.inf, 400])


def test_cheapest_start_waits_for_the_cheap_hours(day: PriceCurve) -> None:
    found = day.cheapest_start([50, 50, 100, 150], 100, [400, 120, 400, 400])
    # The third just fits into the cheap part; the last is half dear at best, at 150.
    np.testing.assert_array_equal(found, [200, 100, 200, 150])


def test_cheapest_start_runs_now_when_the_forecast_is_missing(day: PriceCurve) -> None:
    # Now is unknown; the run now crosses into the unknown; the run now ends beyond the curve.
    np.testing.assert_array_equal(
        day.cheapest_start([50, 90, 200], [310, 250, 450], 480), [310, 250, 450]
    )


def test_cheapest_start_does_not_wait_when_it_is_late_already(day: PriceCurve) -> None:
    assert float(day.cheapest_start(50, 120, 60)) == 120


def test_cheapest_start_without_a_deadline(day: PriceCurve) -> None:
    assert float(day.cheapest_start(50, 100, np.inf)) == 200


def test_cheapest_start_takes_the_first_of_equal_nights() -> None:
    month = curve_of([i * 43_200 for i in range(61)], ["0.16299", "0.08981"] * 30)
    starts = month.cheapest_start([3_600, 7_200, 12_345.6], [0, 0.3, 9], np.inf)
    np.testing.assert_array_equal(starts, 43_200)


def test_cheapest_start_of_many_equals_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    zigzag = curve_of(list(range(0, 1100, 100)), [str(i * 7 % 10) for i in range(10)])
    durations, earliest = np.arange(1.0, 61.0), np.arange(60.0) * 5
    alone = [
        float(zigzag.cheapest_start(*pair, 900)) for pair in zip(durations, earliest, strict=True)
    ]
    monkeypatch.setattr("policies.pricing.curve.PAIRS_AT_ONCE", 100)
    together = zigzag.cheapest_start(durations[:, None], earliest[:, None], 900)
    np.testing.assert_array_equal(together[:, 0], alone)


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


@settings(deadline=None)
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


@settings(deadline=None)
@given(curves(), moments)
def test_price_and_changes_agree_with_windows(curve: PriceCurve, t: int) -> None:
    (here,) = curve.windows(t, t + 1)
    price, change = float(curve.price_at(t)), float(curve.next_change(t))
    assert np.isnan(price) if here.price is None else price == float(here.price)
    later = (s for s in range(t + 1, 121) if not _same(curve, s, s - 1) and s < curve.end_s)
    # The start of the curve is an edge even if its first part is unknown.
    first = next(later, np.inf)
    assert change == (min(first, curve.start_s) if t < curve.start_s else first)


@settings(deadline=None)
@given(curves(), moments, st.decimals(-5, 5, places=2))
def test_next_below_agrees_with_looking_at_every_second(
    curve: PriceCurve, t: int, price: Decimal
) -> None:
    bar = float(price)
    first = next((s for s in range(t, 121) if float(curve.price_at(s)) < bar), np.inf)
    assert float(curve.next_below(t, bar)) == first


@settings(deadline=None)
@given(curves(), st.integers(0, 20), moments, moments)
def test_cheapest_start_agrees_with_trying_every_second(
    curve: PriceCurve, duration: int, earliest: int, latest: int
) -> None:
    found = float(curve.cheapest_start(duration, earliest, latest))
    tries = {s: float(curve.integral(s, s + duration)) for s in range(earliest, latest + 1)}
    if latest < earliest or np.isnan(tries[earliest]):
        assert found == earliest
        return
    known = {s: cost for s, cost in tries.items() if not np.isnan(cost)}
    lowest = min(known.values())
    assert found == min(s for s, cost in known.items() if cost <= lowest + 1e-7)


def _same(curve: PriceCurve, one: int, other: int) -> bool:
    return bool(np.array_equal(curve.price_at([one]), curve.price_at([other]), equal_nan=True))
