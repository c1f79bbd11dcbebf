"""Tariffs as curves over UTC: by hand on daylight-saving days, and against the wall clock."""

import csv
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.pricing.curve import PriceCurve, PriceWindow
from policies.pricing.periods import PricePeriod, validate_periods
from policies.pricing.tariff import (
    CarbonIntensity,
    FlatTariff,
    HourlyTariff,
    TimeOfUseTariff,
    demand_charge,
    validate_flat,
    validate_time_of_use,
)
from policies.pricing.timezones import offset_spans
from tests.examples import examples

CHECKOUT = Path(__file__).parents[2]
DATA = Path(os.environ.get("FAIRWATT_DATA", CHECKOUT.parent / "shared" / "data"))
YEAR, WEEK = frozenset(range(1, 13)), frozenset(range(7))
NIGHT, DAY = Decimal("0.20"), Decimal("0.30")
HOUR_S = 3600


def s(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def day_and_night(timezone: str, *edges: int) -> TimeOfUseTariff:
    """NIGHT and DAY by turns, from midnight, changing at these local minutes."""
    bounds = [0, *edges, 1440]
    return TimeOfUseTariff(
        tuple(
            PricePeriod(YEAR, WEEK, low, high, DAY if i % 2 else NIGHT)
            for i, (low, high) in enumerate(pairwise(bounds))
        ),
        timezone,
    )


def windows(curve: PriceCurve) -> list[tuple[str, str, Decimal | None]]:
    def clock(at_s: float) -> str:
        return f"{datetime.fromtimestamp(at_s, UTC):%H:%M}"

    parts = curve.windows(curve.start_s, curve.end_s)
    return [(clock(part.start_s), clock(part.end_s), part.price) for part in parts]


def test_a_flat_tariff_has_one_price() -> None:
    curve = FlatTariff(DAY).curve(1000, 5000)
    assert list(curve.windows(1000, 5000)) == [PriceWindow(1000, 5000, DAY)]


def test_the_day_that_loses_an_hour() -> None:
    tariff = day_and_night("Europe/Berlin", 6 * 60, 22 * 60)
    start_s, end_s = s("2026-03-29T00:00+01:00"), s("2026-03-30T00:00+02:00")
    curve = tariff.curve(start_s, end_s)
    assert (end_s - start_s) / HOUR_S == 23
    assert windows(curve) == [
        ("23:00", "04:00", NIGHT),
        ("04:00", "20:00", DAY),
        ("20:00", "22:00", NIGHT),
    ]
    assert float(curve.cost(1000, start_s, end_s)) == pytest.approx(7 * 0.20 + 16 * 0.30)


def test_the_day_that_gains_an_hour() -> None:
    tariff = day_and_night("Europe/Berlin", 6 * 60, 22 * 60)
    start_s, end_s = s("2026-10-25T00:00+02:00"), s("2026-10-26T00:00+01:00")
    curve = tariff.curve(start_s, end_s)
    assert (end_s - start_s) / HOUR_S == 25
    assert windows(curve) == [
        ("22:00", "05:00", NIGHT),
        ("05:00", "21:00", DAY),
        ("21:00", "23:00", NIGHT),
    ]
    assert float(curve.cost(1000, start_s, end_s)) == pytest.approx(9 * 0.20 + 16 * 0.30)


def test_a_change_within_the_skipped_hour_happens_at_the_jump() -> None:
    tariff = day_and_night("Europe/Berlin", 150)
    curve = tariff.curve(s("2026-03-29T00:00Z"), s("2026-03-29T03:00Z"))
    assert windows(curve) == [("00:00", "01:00", NIGHT), ("01:00", "03:00", DAY)]


def test_a_change_within_the_repeated_hour_happens_twice() -> None:
    tariff = day_and_night("Europe/Berlin", 150)
    curve = tariff.curve(s("2026-10-25T00:00Z"), s("2026-10-25T03:00Z"))
    assert windows(curve) == [
        ("00:00", "00:30", NIGHT),
        ("00:30", "01:00", DAY),
        ("01:00", "01:30", NIGHT),
        ("01:30", "03:00", DAY),
    ]


def test_months_and_weekdays_are_those_of_the_wall_clock() -> None:
    sunday = PricePeriod(frozenset({3}), frozenset({6}), 0, 1440, Decimal(5))
    march = PricePeriod(frozenset({3}), WEEK - {6}, 0, 1440, Decimal(1))
    rest = PricePeriod(YEAR - {3}, WEEK, 0, 1440, Decimal(0))
    tariff = TimeOfUseTariff((sunday, march, rest), "Asia/Kolkata")
    # Sunday 1 March 2026 in Kolkata (UTC+05:30) begins at 18:30 UTC on Saturday 28 February.
    curve = tariff.curve(s("2026-02-28T12:00Z"), s("2026-03-02T12:00Z"))
    assert windows(curve) == [
        ("12:00", "18:30", Decimal(0)),
        ("18:30", "18:30", Decimal(5)),
        ("18:30", "12:00", Decimal(1)),
    ]


def test_a_curve_may_start_and_end_between_edges() -> None:
    tariff = day_and_night("UTC", 60, 120)
    assert list(tariff.curve(3599, 7201).windows(0, 9000)) == [
        PriceWindow(0, 3599, None),
        PriceWindow(3599, 3600, NIGHT),
        PriceWindow(3600, 7200, DAY),
        PriceWindow(7200, 7201, NIGHT),
        PriceWindow(7201, 9000, None),
    ]


def test_an_empty_range_is_refused() -> None:
    for tariff in (FlatTariff(DAY), day_and_night("UTC", 60)):
        with pytest.raises(ValueError, match=r"ascending|after it starts"):
            tariff.curve(5, 5)


def test_offsets_change_to_the_second() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start_s, spring_s = s("2026-01-01T00:00Z"), s("2026-03-29T01:00Z")
    autumn_s, end_s = s("2026-10-25T01:00Z"), s("2027-01-01T00:00Z")
    assert offset_spans(berlin, start_s, end_s) == [
        (start_s, spring_s, HOUR_S),
        (spring_s, autumn_s, 2 * HOUR_S),
        (autumn_s, end_s, HOUR_S),
    ]
    assert offset_spans(berlin, start_s, spring_s) == [(start_s, spring_s, HOUR_S)]
    assert offset_spans(berlin, spring_s, spring_s + 1) == [(spring_s, spring_s + 1, 2 * HOUR_S)]


zones = st.sampled_from(
    ["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
)
edges = st.lists(st.integers(1, 1439), unique=True, max_size=5).map(sorted)


@settings(max_examples=examples(60))
@given(zones, edges, st.integers(s("2024-01-01T00:00Z"), s("2028-01-01T00:00Z")), st.data())
def test_the_curve_agrees_with_the_wall_clock(
    timezone: str, changes: list[int], start_s: int, data: st.DataObject
) -> None:
    tariff = day_and_night(timezone, *changes)
    curve = tariff.curve(start_s, start_s + 200 * 86_400)
    offset = st.integers(0, 200 * 86_400 - 1)
    times = [start_s + extra for extra in data.draw(st.lists(offset, min_size=1, max_size=50))]
    times += [edge + step for edge in curve.edges_s[1:-1].tolist() for step in (-1, 0)]
    expected = []
    for at_s in times:
        local_at = datetime.fromtimestamp(at_s, ZoneInfo(timezone))
        minute = local_at.hour * 60 + local_at.minute
        expected.append(sum(change <= minute for change in changes))
    np.testing.assert_array_equal(tariff.period_at(np.array(times)), expected)
    prices = [float(DAY if i % 2 else NIGHT) for i in expected]
    np.testing.assert_array_equal(curve.price_at(times), prices)


def test_an_hourly_series_knows_its_hours_only() -> None:
    starts_s = np.array([0, 3600, 10_800])
    tariff = HourlyTariff(starts_s, (Decimal(1), Decimal(-2), Decimal(3)))
    assert list(tariff.curve(-100, 20_000).windows(-100, 20_000)) == [
        PriceWindow(-100, 0, None),
        PriceWindow(0, 3600, Decimal(1)),
        PriceWindow(3600, 7200, Decimal(-2)),
        PriceWindow(7200, 10_800, None),
        PriceWindow(10_800, 14_400, Decimal(3)),
        PriceWindow(14_400, 20_000, None),
    ]
    assert list(tariff.curve(1800, 3601).windows(1800, 3601)) == [
        PriceWindow(1800, 3600, Decimal(1)),
        PriceWindow(3600, 3601, Decimal(-2)),
    ]
    assert list(tariff.curve(4000, 9000).windows(4000, 9000)) == [
        PriceWindow(4000, 7200, Decimal(-2)),
        PriceWindow(7200, 9000, None),
    ]


@pytest.mark.parametrize(("start_s", "end_s"), [(-500, -1), (7200, 10_800), (14_400, 99_999)])
def test_an_hourly_series_is_unknown_outside(start_s: int, end_s: int) -> None:
    tariff = HourlyTariff(np.array([0, 3600, 10_800]), (Decimal(1),) * 3)
    assert tariff.curve(start_s, end_s).exact_prices == (None,)


def test_an_empty_series_knows_no_price() -> None:
    curve = HourlyTariff(np.array([], dtype=np.int64), ()).curve(0, 7200)
    assert curve.exact_prices == (None,)


@pytest.mark.parametrize("starts_s", [[0], [0, 3600, 7200], [3600, 0], [0, 1800]])
def test_an_hourly_series_that_does_not_fit_is_refused(starts_s: list[int]) -> None:
    with pytest.raises(ValueError, match="one value per hour"):
        HourlyTariff(np.array(starts_s), (Decimal(1), Decimal(2))).curve(0, 10)


def test_carbon_is_a_curve_too() -> None:
    series = CarbonIntensity(np.array([0, 3600]), (Decimal(400), Decimal(100)))
    assert float(series.curve(0, 7200).cost(1000, 1800, 5400)) == pytest.approx(250)


def test_tariffs_that_exist_are_valid() -> None:
    whole = PricePeriod(YEAR, WEEK, 0, 1440, DAY)
    with pytest.raises(ValueError, match="/timezone"):
        TimeOfUseTariff((whole,), "Europe/Nowhere")
    with pytest.raises(ValueError, match="/periods/1: Overlaps"):
        TimeOfUseTariff((whole, whole), "UTC")
    with pytest.raises(ValueError, match="/price_per_kwh"):
        FlatTariff(Decimal("NaN"))


@pytest.mark.parametrize(
    "timezone",
    ["", "Europe", "europe/berlin", "../etc/passwd", "localtime", "right/UTC", "a\0b", "\ud800"],
)
def test_what_is_no_time_zone(timezone: str) -> None:
    whole = PricePeriod(YEAR, WEEK, 0, 1440, DAY)
    (problem,) = validate_time_of_use([whole], timezone, None)
    assert (problem.code, problem.pointer) == ("unknown_timezone", "/timezone")
    assert problem.message.isascii()


def test_demand_charges_of_a_tariff_are_checked() -> None:
    whole = PricePeriod(YEAR, WEEK, 0, 1440, DAY)
    for charge in (Decimal(-1), Decimal("Infinity"), Decimal(100_001)):
        (flat,) = validate_flat(DAY, charge)
        (timed,) = validate_time_of_use([whole], "UTC", charge)
        assert flat.pointer == timed.pointer == "/demand_charge_per_kw"
    assert validate_flat(DAY, Decimal(100_000)) == []


def test_demand_is_charged_for_the_month_and_once_per_name() -> None:
    assert demand_charge(Decimal(10), None) == 0
    assert demand_charge(Decimal(10), Decimal("21.3")) == 213
    peaks = [
        PricePeriod(YEAR, WEEK, 0, 510, NIGHT),
        PricePeriod(YEAR, WEEK, 510, 720, DAY, "half-peak", Decimal(6)),
        PricePeriod(YEAR, WEEK, 720, 1080, DAY, "peak", Decimal(20)),
        PricePeriod(YEAR, WEEK, 1080, 1290, DAY, "half-peak", Decimal(6)),
        PricePeriod(YEAR, WEEK, 1290, 1440, NIGHT, "", Decimal(1)),
    ]
    peaks_kw = [Decimal(kw) for kw in (50, 30, 10, 40, 5)]
    # 50 x 2 for the month, 40 x 6 for half-peak, 10 x 20 for peak, 5 x 1 for the last period.
    assert demand_charge(Decimal(50), Decimal(2), peaks, peaks_kw) == 100 + 240 + 200 + 5
    with pytest.raises(ValueError, match="zip"):
        demand_charge(Decimal(50), None, peaks, peaks_kw[:-1])


def public_periods(file: str, charge_column: str) -> tuple[PricePeriod, ...]:
    path = DATA / "tariffs" / file
    if not path.exists():
        pytest.skip(f"{file} is not below FAIRWATT_DATA")
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["type"] == "energy"]
    return tuple(
        PricePeriod(
            frozenset(range(int(row["month_start"]), int(row["month_end"]) + 1)),
            frozenset(range(int(row["weekday_start"]), int(row["weekday_end"]) + 1)),
            int(Decimal(row["hour_start"]) * 60),
            int(Decimal(row["hour_end"]) * 60),
            round(Decimal(row[charge_column]), 12),
        )
        for row in rows
        if row["utility"] == "electric"
    )


def test_the_industrial_tariff_of_pge() -> None:
    periods = public_periods("pge_industrial_tou.csv", "charge")
    assert validate_periods(periods) == []
    tariff = TimeOfUseTariff(periods, "America/Los_Angeles")
    start_s = s("2022-07-05T00:00-07:00")  # a Tuesday
    curve = tariff.curve(start_s, start_s + 86_400)
    parts = list(curve.windows(start_s, start_s + 86_400))
    low, half, peak = Decimal("0.08981"), Decimal("0.1196"), Decimal("0.16299")
    hours = [((part.end_s - start_s) / HOUR_S, part.price) for part in parts]
    assert hours == [(8.5, low), (12, half), (18, peak), (21.5, half), (24, low)]
    # 11 h x 0.08981 + 7 h x 0.1196 + 6 h x 0.16299
    assert float(curve.cost(1000, start_s, start_s + 86_400)) == pytest.approx(2.80305)


def test_the_large_power_tariff_of_pnm_changes_at_weekends() -> None:
    periods = public_periods("pnm_4b_large_power_tou.csv", "charge (metric)")
    assert validate_periods(periods) == []
    tariff = TimeOfUseTariff(periods, "America/Denver")
    friday_at = datetime(2024, 7, 5, 18, tzinfo=ZoneInfo("America/Denver"))
    friday_s = int(friday_at.timestamp())
    curve = tariff.curve(friday_s, friday_s + 3 * 86_400)
    times_s = [friday_s + int(timedelta(days=days).total_seconds()) for days in (0, 1, 2)]
    weekend = 0.0254538
    np.testing.assert_array_equal(curve.price_at(times_s), [0.0436952, weekend, weekend])
