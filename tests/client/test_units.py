"""Numbers as people read and type them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from fairwatt.cli import units
from fairwatt.errors import FairwattError

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("millijoules", "text"),
    [(0, "0 J"), (1_500, "1.5 J"), (1_830_400, "1830 J"),
     (3_600_000, "1 Wh"), (4_500_000_000, "1.25 kWh"),
     (7_200_000_000_000, "2 MWh")],
)  # fmt: skip
def test_energy(millijoules: int, text: str) -> None:
    assert units.energy(millijoules) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [("0", "0.00 EUR"), ("0.000123", "0.00012 EUR"), ("0.1", "0.10 EUR"), ("12.345", "12.34 EUR"),
     ("12.355", "12.36 EUR"), ("-0.02", "-0.02 EUR")],
)  # fmt: skip
def test_money(amount: str, text: str) -> None:
    assert units.money(Decimal(amount), "EUR") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (90, "1 min 30 s"), (3600, "1 h"),
     (3660, "1 h 1 min"), (2 * 86_400, "2 d"), (2 * 86_400 + 3600, "2 d 1 h")],
)  # fmt: skip
def test_durations_are_read(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("2d", 172_800)]
)
def test_durations_are_typed(text: str, seconds: int) -> None:
    assert units.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "1 h", "soon", "1.5h"])
def test_what_is_no_duration_says_how_to_write_one(text: str) -> None:
    with pytest.raises(FairwattError) as caught:
        units.seconds_of(text)
    assert "1h30m" in caught.value.next_step


def test_moments() -> None:
    assert units.moment_of("+2h", NOW) == NOW + timedelta(hours=2)
    assert units.moment_of("2026-11-20T08:00+01:00", NOW).hour == 7
    with pytest.raises(FairwattError):
        units.moment_of("tomorrow", NOW)
    assert units.ago(NOW - timedelta(minutes=1), NOW) == "1 min ago"
    assert units.ago(NOW + timedelta(seconds=5), NOW) == "in 5 s"
    assert units.ago(NOW + timedelta(seconds=0.4), NOW) == "now"
    assert units.ago(None, NOW) is None
