"""Joules, money and times as people read them, and durations as people type them."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from fairwatt.errors import FairwattError

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def energy(millijoules: int) -> str:
    """In the unit in which it has one to three digits before the point."""
    watt_hours = millijoules / 3_600_000
    for unit, size in (("MWh", 1e6), ("kWh", 1e3), ("Wh", 1.0)):
        if watt_hours >= size:
            return f"{watt_hours / size:.3g} {unit}"
    joules = millijoules / 1000
    return f"{joules:.0f} J" if joules >= 100 else f"{joules:.3g} J"


def money(amount: Decimal, currency: str) -> str:
    """Cents where there are any, otherwise two digits that say something."""
    if amount == 0 or abs(amount) >= Decimal("0.1"):
        return f"{amount:.2f} {currency}"
    return f"{float(amount):.2g} {currency}"


def duration(seconds: float) -> str:
    whole = round(abs(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def ago(at: datetime | None, now: datetime) -> str | None:
    if at is None:
        return None
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(seconds)}"


def clock(at: datetime | None) -> str | None:
    """In the reader's own time zone."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else None


def seconds_of(text: str) -> int:
    """`90`, `90s`, `15m`, `2h`, `1d`, `1h30m`."""
    if text.isdigit():
        return int(text)
    if not re.fullmatch(r"(\d+[smhd])+", text):
        raise FairwattError(f"{text!r} is no duration.", "Write 90s, 15m, 2h or 1h30m.")
    return sum(int(number) * _UNITS_S[unit] for number, unit in re.findall(r"(\d+)([smhd])", text))


def moment_of(text: str, now: datetime) -> datetime:
    """`+2h` from now, or an ISO time; without an offset it is the reader's own."""
    if text.startswith("+"):
        return now + timedelta(seconds=seconds_of(text[1:]))
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError as error:
        raise FairwattError(f"{text!r} is no time.", "Write +2h or 2026-11-20T08:00.") from error


def now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the command reads the clock, nothing below it does
