"""Where a message breaks the protocol, and how: asked only once msgspec has refused it."""

import base64
import math
import re
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from agent.wire.bounds import bare_pattern
from agent.wire.message import WireError


def check(kind: Any, value: Any) -> None:
    """Raise the first fault of plain JSON that should be a message of this kind."""
    _check(_type_info(kind), value, "")


@cache
def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _check(info: inspect.Type, value: Any, at: str) -> None:
    match info:
        case inspect.UnionType(types=options):
            if value is not None:
                (inner,) = (each for each in options if not isinstance(each, inspect.NoneType))
                _check(inner, value, at)
        case inspect.StructType():
            _check_struct(info, value, at)
        case inspect.VarTupleType():
            _check_list(info, value, at)
        case inspect.DictType():
            _check_pairs(info, value, at)
        case inspect.StrType():
            _check_text(info, value, at)
        case inspect.BytesType():
            _check_bytes(info, value, at)
        case inspect.IntType() | inspect.FloatType():
            _check_number(info, value, at)
        case inspect.EnumType(cls=choices):
            known = [member.value for member in choices]
            if value not in known:
                raise WireError(at, f"expected one of {', '.join(known)}")
        case inspect.BoolType():
            if not isinstance(value, bool):
                raise WireError(at, "expected true or false")


def _check_struct(info: inspect.StructType, value: Any, at: str) -> None:
    if not isinstance(value, dict):
        raise WireError(at, "expected an object")
    fields = {field.name: field.type for field in info.fields}
    if missing := {field.name for field in info.fields if field.required} - value.keys():
        raise WireError(at, f"lacks {', '.join(sorted(missing))}")
    unknown = value.keys() - fields.keys()
    if info.forbid_unknown_fields and unknown:
        raise WireError(at, f"unknown field {', '.join(sorted(unknown))}")
    for name, each in value.items():
        if name in fields:
            _check(fields[name], each, f"{at}/{name}")
    try:
        msgspec.convert(value, info.cls)
    except msgspec.ValidationError as error:
        # Each field is right by itself: two of them contradict each other.
        if isinstance(error.__cause__, WireError):
            raise WireError(at + error.__cause__.pointer, error.__cause__.problem) from None


def _check_list(info: inspect.VarTupleType, value: Any, at: str) -> None:
    fewest, most = info.min_length or 0, info.max_length or 0
    if not isinstance(value, list) or not fewest <= len(value) <= most:
        raise WireError(at, f"expected a list of {fewest} to {most}")
    for index, each in enumerate(value):
        _check(info.item_type, each, f"{at}/{index}")


def _check_pairs(info: inspect.DictType, value: Any, at: str) -> None:
    if not isinstance(value, dict) or len(value) > (info.max_length or 0):
        raise WireError(at, f"expected an object of at most {info.max_length} names")
    for key, each in value.items():
        _check(info.key_type, key, at)
        _check(info.value_type, each, f"{at}/{key}")


def _check_text(info: inspect.StrType, value: Any, at: str) -> None:
    if not isinstance(value, str):
        raise WireError(at, "expected text")
    if len(value) > (info.max_length or 0):
        raise WireError(at, f"longer than {info.max_length} characters")
    # JSON can spell half of a surrogate pair, which neither UTF-8 nor Postgres can hold.
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value):
        raise WireError(at, "holds a character that cannot be stored")
    if info.pattern and not re.search(info.pattern, value):
        raise WireError(at, f"does not match {bare_pattern(info.pattern)}")


def _check_bytes(info: inspect.BytesType, value: Any, at: str) -> None:
    longest = info.max_length or 0
    if not isinstance(value, str) or len(value) > 4 * math.ceil(longest / 3):
        raise WireError(at, f"expected base64 of at most {longest} bytes")
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        raise WireError(at, "not base64") from None
    if len(data) > longest:
        raise WireError(at, f"expected base64 of at most {longest} bytes")


def _check_number(info: inspect.IntType | inspect.FloatType, value: Any, at: str) -> None:
    whole = isinstance(info, inspect.IntType)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise WireError(at, "expected a whole number" if whole else "expected a number")
    low, high = info.ge or 0, info.le or 0
    if not low <= value <= high:
        raise WireError(at, f"not between {low} and {high}")
