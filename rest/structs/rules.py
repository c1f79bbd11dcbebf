"""Rules of values that msgspec does not have: exact decimals, RFC 3339 instants, bounded JSON."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

from rest.json import encode

JSON_MAX_BYTES = 64 * 1024
Schema = dict[str, Any]

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d{1,12}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
# What nearly everybody writes, which needs no taking apart.
_UTC_SECONDS = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:[0-5]\dZ", re.ASCII)


class Unfit(Exception):
    """Why a value does not fit its field."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class Rule(Protocol):
    """Travels with a type in `Meta(extra={"rule": …})`."""

    schema: Schema

    def read(self, value: object) -> Any:
        """The value as the service sees it, or Unfit."""

    def show(self, value: Any) -> Any:
        """The value as the caller sees it; never asked about null."""


class AmountRule:
    """An exact decimal, a text on the wire so that nobody rounds it."""

    def __init__(self, pattern: str, places: int, *, plain: bool) -> None:
        self.pattern, self.places = pattern, places
        self.schema: Schema = {"type": "string", "format": "decimal", "pattern": pattern}
        inner = pattern.removeprefix("^").removesuffix("$")
        self._matches = re.compile(f"(?:{inner})", re.ASCII).fullmatch
        self.show = _without_idle_zeros if plain else self._with_all_places

    def read(self, value: object) -> Decimal:
        if not isinstance(value, str):
            raise Unfit("not_text", 'Send decimals as strings, such as "0.25".')
        if not self._matches(value):
            raise Unfit("notation", f"Must match {self.pattern}.")
        return Decimal(value)

    def _with_all_places(self, value: Any) -> str:
        return f"{value:.{self.places}f}"


def _without_idle_zeros(value: Any) -> str:
    number = Decimal(value)
    return f"{number.normalize():f}" if number else "0"


class InstantRule:
    """An RFC 3339 date-time with an offset; the service sees UTC."""

    schema: Schema = {"type": "string", "format": "date-time"}

    def read(self, value: object) -> datetime:
        if not isinstance(value, str):
            raise _no_instant()
        try:
            if _UTC_SECONDS.fullmatch(value):
                return datetime.fromisoformat(value)
            return _instant(value)
        except (ValueError, OverflowError):
            raise _no_instant() from None

    def show(self, value: Any) -> Any:
        return value


def _instant(value: str) -> datetime:
    parts = _RFC3339.fullmatch(value)
    if parts is None:
        raise ValueError
    day, minutes, seconds, fraction, offset = parts.groups()
    leap = seconds == "60"
    text = f"{day}T{minutes}:{'59' if leap else seconds}.{(fraction or '0')[:6]:0<6}"
    at = datetime.fromisoformat(text + offset.upper()) + timedelta(seconds=int(leap))
    return at.astimezone(UTC)


def _no_instant() -> Unfit:
    return Unfit("rfc3339", "Write a date-time with offset, such as 2026-01-31T08:00:00Z.")


class JsonRule:
    """A free JSON object of bounded size."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def read(self, value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Unfit("not_object", "Must be a JSON object.")
        if len(encode(value)) > JSON_MAX_BYTES:
            raise Unfit("too_large", f"Must be at most {JSON_MAX_BYTES} bytes of JSON.")
        return value

    def show(self, value: Any) -> Any:
        return value
