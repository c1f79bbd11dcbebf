"""Strict JSON for frozen dataclasses: bounds stand in the annotations, errors name the place."""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

Message = TypeVar("Message")
Reader = Callable[[Any, str], Any]


class WireError(ValueError):
    """A message that does not hold to the protocol; `pointer` is the JSON pointer of the fault."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{pointer or '/'}: {problem}")
        self.pointer = pointer
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Text:
    longest: int
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    most: int
    fewest: int = 0


@dataclass(frozen=True, slots=True)
class Bytes:
    longest: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Bounds of a mapping from text to text."""

    most: int
    key: Text
    value: Text


def decode(kind: type[Message], body: bytes) -> Message:
    """A request: a field nobody knows is an error, for it may be a misspelt one that matters."""
    return _read(kind, body, lenient=False)


def decode_answer(kind: type[Message], body: bytes) -> Message:
    """The service's answer: unknown fields are ignored, so the service may be upgraded first."""
    return _read(kind, body, lenient=True)


def encode(message: Any) -> bytes:
    return json.dumps(_plain(message), separators=(",", ":"), allow_nan=False).encode()


def _read(kind: type[Message], body: bytes, *, lenient: bool) -> Message:
    try:
        value = json.loads(body, object_pairs_hook=_object, parse_constant=_no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise WireError("", f"not JSON: {error}") from None
    hint: Any = kind
    message: Message = _reader(hint, lenient)(value, "")
    return message


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise WireError("", "a name occurs twice in one object")
    return names


def _no_constant(name: str) -> float:
    raise WireError("", f"{name} is not a number here")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


@cache
def _reader(hint: Any, lenient: bool) -> Reader:
    if get_origin(hint) is Annotated:
        inner, bound = get_args(hint)[:2]
        return _bounded(inner, bound, lenient)
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (option for option in get_args(hint) if option is not NoneType)
        return _optional(_reader(inner, lenient))
    if hint is bool:
        return _boolean
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _choice(hint)
    return _fields(hint, lenient)


def _bounded(inner: Any, bound: Any, lenient: bool) -> Reader:
    match bound:
        case Range():
            return _number(inner, bound)
        case Text():
            return _text(bound)
        case Bytes():
            return _bytes(bound)
        case Pairs():
            return _pairs(bound)
        case Items():
            return _items(_reader(get_args(inner)[0], lenient), bound)
    raise TypeError(f"no reader for {inner} with {bound}")


def _optional(inner: Reader) -> Reader:
    return lambda value, at: None if value is None else inner(value, at)


def _boolean(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise WireError(at, "expected true or false")
    return value


def _choice(kind: type[StrEnum]) -> Reader:
    known = {member.value: member for member in kind}

    def read(value: Any, at: str) -> StrEnum:
        if not isinstance(value, str) or value not in known:
            raise WireError(at, f"expected one of {', '.join(known)}")
        return known[value]

    return read


def _number(kind: type, bound: Range) -> Reader:
    accepted = (int,) if kind is int else (int, float)

    def read(value: Any, at: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, accepted):
            raise WireError(at, "expected a whole number" if kind is int else "expected a number")
        if not math.isfinite(value) or not bound.low <= value <= bound.high:
            raise WireError(at, f"not between {bound.low} and {bound.high}")
        return value if kind is int else float(value)

    return read


def _text(bound: Text) -> Reader:
    pattern = re.compile(bound.pattern) if bound.pattern else None

    def read(value: Any, at: str) -> str:
        if not isinstance(value, str):
            raise WireError(at, "expected text")
        if len(value) > bound.longest:
            raise WireError(at, f"longer than {bound.longest} characters")
        if "\0" in value or not _encodable(value):
            raise WireError(at, "holds a character that cannot be stored")
        if pattern and not pattern.fullmatch(value):
            raise WireError(at, f"does not match {bound.pattern}")
        return value

    return read


def _encodable(value: str) -> bool:
    # JSON can spell half of a surrogate pair, which neither UTF-8 nor Postgres can hold.
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _bytes(bound: Bytes) -> Reader:
    longest = 4 * math.ceil(bound.longest / 3)

    def read(value: Any, at: str) -> bytes:
        if not isinstance(value, str) or len(value) > longest:
            raise WireError(at, f"expected base64 of at most {bound.longest} bytes")
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise WireError(at, "not base64") from None

    return read


def _pairs(bound: Pairs) -> Reader:
    key, text = _text(bound.key), _text(bound.value)

    def read(value: Any, at: str) -> dict[str, str]:
        if not isinstance(value, dict) or len(value) > bound.most:
            raise WireError(at, f"expected an object of at most {bound.most} names")
        return {key(k, at): text(v, f"{at}/{k}") for k, v in value.items()}

    return read


def _items(item: Reader, bound: Items) -> Reader:
    def read(value: Any, at: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or not bound.fewest <= len(value) <= bound.most:
            raise WireError(at, f"expected a list of {bound.fewest} to {bound.most}")
        return tuple([item(each, f"{at}/{index}") for index, each in enumerate(value)])

    return read


def _fields(kind: type[Any], lenient: bool) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {f.name: _reader(hints[f.name], lenient) for f in fields(kind)}
    required = frozenset(
        f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING
    )

    def read(value: Any, at: str) -> Any:
        if not isinstance(value, dict):
            raise WireError(at, "expected an object")
        if missing := required - value.keys():
            raise WireError(at, f"lacks {', '.join(sorted(missing))}")
        if not lenient and (unknown := value.keys() - readers.keys()):
            raise WireError(at, f"unknown field {', '.join(sorted(unknown))}")
        given = {
            name: readers[name](each, f"{at}/{name}")
            for name, each in value.items()
            if name in readers
        }
        try:
            return kind(**given)
        except WireError as error:
            raise WireError(at + error.pointer, error.problem) from None

    return read
