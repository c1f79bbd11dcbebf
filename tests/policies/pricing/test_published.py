"""What is known of prices at a moment: what a day-ahead market has published, up to the horizon."""

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.pricing.published import (
    HORIZON_S,
    next_published_s,
    published_until_s,
    seen_prices,
)
from policies.pricing.tariff import FlatTariff, HourlyTariff

HOUR_S = 3600
ZONES = ["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe"]


def at_s(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("now", "until", "then"),
    [
        ("2021-07-01T12:44+02:00", "2021-07-02T00:00+02:00", "2021-07-01T12:45+02:00"),
        ("2021-07-01T12:45+02:00", "2021-07-03T00:00+02:00", "2021-07-02T12:45+02:00"),
        ("2021-07-01T00:00+02:00", "2021-07-02T00:00+02:00", "2021-07-01T12:45+02:00"),
        ("2021-03-27T13:00+01:00", "2021-03-29T00:00+02:00", "2021-03-28T12:45+02:00"),
        ("2021-10-30T13:00+02:00", "2021-11-01T00:00+01:00", "2021-10-31T12:45+01:00"),
    ],
    ids=["before", "after", "midnight", "a day of 23 hours", "a day of 25 hours"],
)
def test_tomorrow_is_published_at_a_quarter_to_one_where_the_market_is(
    now: str, until: str, then: str
) -> None:
    assert published_until_s(at_s(now), "Europe/Berlin") == at_s(until)
    assert next_published_s(at_s(now), "Europe/Berlin") == at_s(then)


@given(st.floats(1.5e9, 1.9e9), st.sampled_from(ZONES))
def test_more_is_published_only_when_it_is_said_to_be(now_s: float, zone: str) -> None:
    until_s, then_s = published_until_s(now_s, zone), next_published_s(now_s, zone)
    assert 10 * HOUR_S < until_s - now_s < 37.5 * HOUR_S
    assert now_s < then_s
    assert published_until_s(then_s - 1, zone) == until_s or then_s - 1 < now_s
    assert published_until_s(then_s, zone) > until_s


def test_hours_that_nobody_has_published_are_not_seen() -> None:
    begins_s = int(datetime(2021, 7, 1, tzinfo=UTC).timestamp())
    hours_s = begins_s + HOUR_S * np.arange(100)
    curve = HourlyTariff(hours_s, tuple(map(Decimal, range(100)))).curve(
        begins_s, begins_s + 100 * HOUR_S
    )
    now_s = begins_s + 9.5 * HOUR_S
    seen = seen_prices(curve, None, now_s, market="Europe/Berlin")
    # 11:30 in Berlin, where the day ends at 22:00 UTC.
    assert seen.price_per_kwh[:-1].tolist() == list(range(22))
    assert seen.from_s[-1] == begins_s + 22 * HOUR_S
    assert np.isnan(seen.price_per_kwh[-1])
    imported = seen_prices(curve, None, now_s)
    assert imported.price_per_kwh[:-1].tolist() == list(range(57))


def test_the_day_behind_us_is_seen_as_it_was_and_no_more_of_it() -> None:
    hours_s = HOUR_S * np.arange(100)
    curve, believed = (
        HourlyTariff(hours_s, tuple(map(Decimal, prices))).curve(0, 100 * HOUR_S)
        for prices in (range(100), range(100, 200))
    )
    seen = seen_prices(curve, None, 30.5 * HOUR_S, believed=believed)
    assert seen.from_s[0] == 6 * HOUR_S
    assert seen.price_per_kwh[:26].tolist() == [*range(6, 31), 131]
    flat = seen_prices(FlatTariff(Decimal(2)).curve(0, 100 * HOUR_S), None, 30.5 * HOUR_S)
    assert len(flat) == 2


def test_what_was_not_imported_is_unknown_and_a_flat_price_known_up_to_the_horizon() -> None:
    few = HourlyTariff(np.array([0, HOUR_S]), (Decimal(1), Decimal(2))).curve(0, HORIZON_S)
    seen = seen_prices(few, None, 600.0)
    assert seen.from_s.tolist() == [0, HOUR_S, 2 * HOUR_S, HORIZON_S]
    assert np.isnan(seen.price_per_kwh).tolist() == [False, False, True, True]
    flat = seen_prices(FlatTariff(Decimal("0.2")).curve(0, 10 * HORIZON_S), None, 600.0)
    assert flat.from_s.tolist() == [0, HORIZON_S]


def test_after_the_last_price_nothing_is_seen() -> None:
    curve = FlatTariff(Decimal(1)).curve(0, HOUR_S)
    assert len(seen_prices(curve, None, 2.0 * HOUR_S)) == 0
