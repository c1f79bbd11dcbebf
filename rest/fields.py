"""Serializer fields that take exactly what the schema says: no coercion, always bounded."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from rest.json import encode

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
TEXT_MAX = 1000
LIST_MAX = 10_000
JSON_MAX_BYTES = 64 * 1024

_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}):(\d{2})(?:\.(\d{1,12}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


class Integer(serializers.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs["min_value"] = _tighter(max, kwargs.get("min_value"), INT64_MIN)
        kwargs["max_value"] = _tighter(min, kwargs.get("max_value"), INT64_MAX)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> int:
        # JSON Schema counts 2.0 as an integer.
        if type(data) is float and data.is_integer():
            return int(data)
        if type(data) is not int:
            self.fail("invalid")
        return data


class Number(serializers.FloatField):
    def to_internal_value(self, data: Any) -> float:
        if type(data) not in {int, float} or abs(data) > 1e300:
            self.fail("invalid")
        return float(data)


class Boolean(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return data

    def to_representation(self, value: Any) -> bool:
        return bool(value)


class Text(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("read_only"):
            kwargs["max_length"] = kwargs.get("max_length") or TEXT_MAX
        kwargs["trim_whitespace"] = False
        super().__init__(**kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) or data is None or data is serializers.empty:
            return super().run_validation(data)
        return self.fail("invalid")

    def to_internal_value(self, data: Any) -> str:
        if type(data) is not str:
            self.fail("invalid")
        return data


class Pattern(Text):
    """Text that matches a regular expression, anchored at both ends."""

    default_error_messages = {"pattern": "Must match {pattern}."}

    def __init__(self, pattern: str, **kwargs: Any) -> None:
        self.pattern = pattern
        self.json_schema: dict[str, Any] = {"type": "string", "pattern": pattern}
        self._matches = re.compile(pattern.removeprefix("^").removesuffix("$")).fullmatch
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not self._matches(text):
            self.fail("pattern", pattern=self.pattern)
        return text


class Slug(Pattern):
    """A name that fits in an address: lower-case letters, digits and inner dashes."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 63)
        super().__init__(pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", **kwargs)


class Choice(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class Sign(Enum):
    ANY = "any"
    NOT_NEGATIVE = "not negative"
    POSITIVE = "positive"


class Amount(serializers.DecimalField):
    """An exact decimal, a string in both directions so that nobody rounds it."""

    default_error_messages = {
        "not_text": 'Send decimals as strings, such as "0.25".',
        "notation": "Must match {pattern}.",
    }

    def __init__(self, max_digits: int, decimal_places: int, **kwargs: Any) -> None:
        sign = kwargs.pop("sign", Sign.ANY)
        whole = max_digits - decimal_places
        digits = rf"(0|[1-9]\d{{0,{whole - 1}}})" + (
            rf"(\.\d{{1,{decimal_places}}})?" if decimal_places else ""
        )
        ahead = {Sign.ANY: "-?", Sign.NOT_NEGATIVE: "", Sign.POSITIVE: r"(?!0(\.0*)?$)"}[sign]
        self.pattern = f"^{ahead}{digits}$"
        self._matches = re.compile(self.pattern.removeprefix("^"), re.ASCII).fullmatch
        self.json_schema = {"type": "string", "format": "decimal", "pattern": self.pattern}
        super().__init__(max_digits=max_digits, decimal_places=decimal_places, **kwargs)

    def to_internal_value(self, data: Any) -> Decimal:
        if not isinstance(data, str):
            self.fail("not_text")
        if "\n" in data or not self._matches(data):
            self.fail("notation", pattern=self.pattern)
        return Decimal(data)

    def to_representation(self, value: Any) -> Any:
        return f"{value:.{self.decimal_places}f}"


class Instant(serializers.DateTimeField):
    """An RFC 3339 date-time with an offset; comes out in UTC."""

    default_error_messages = {
        "rfc3339": "Write a date-time with offset, such as 2026-01-31T08:00:00Z."
    }

    def to_internal_value(self, data: Any) -> datetime:
        if not isinstance(data, str) or not (parts := _RFC3339.fullmatch(data)):
            self.fail("rfc3339")
        day, minutes, seconds, fraction, offset = parts.groups()
        leap = seconds == "60"
        text = f"{day}T{minutes}:{'59' if leap else seconds}.{(fraction or '0')[:6]:0<6}"
        try:
            at = datetime.fromisoformat(text + offset.upper()) + timedelta(seconds=int(leap))
            return at.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("rfc3339")

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "object", "additionalProperties": True})
class JsonObject(serializers.JSONField):
    """A free JSON object of bounded size."""

    default_error_messages = {
        "not_object": "Must be a JSON object.",
        "too_large": f"Must be at most {JSON_MAX_BYTES} bytes of JSON.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("not_object")
        if len(encode(data)) > JSON_MAX_BYTES:
            self.fail("too_large")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Items(serializers.ListField):
    """A list of bounded length."""

    def __init__(self, **kwargs: Any) -> None:
        if not kwargs.get("read_only"):
            kwargs["max_length"] = kwargs.get("max_length") or LIST_MAX
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return list(super().to_internal_value(data))


def _tighter(pick: Any, given: int | None, bound: int) -> int:
    return bound if given is None else int(pick(given, bound))
