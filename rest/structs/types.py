"""Types of struct fields: each says its bounds, its description and its example once."""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Annotated, Any

from msgspec import Meta, Struct

from rest.structs.rules import AmountRule, InstantRule, JsonRule, Schema

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
ID_MAX = 10**18 - 1
TEXT_MAX = 1000


class Sign(Enum):
    ANY = "-?"
    NOT_NEGATIVE = ""
    POSITIVE = r"(?!0(\.0*)?$)"


def text(
    max_length: int = TEXT_MAX,
    *,
    blank: bool = False,
    example: str | None = None,
    description: str | None = None,
) -> Meta:
    """A text as it was sent, spaces and all."""
    return Meta(
        min_length=None if blank else 1,
        max_length=max_length,
        examples=_listed(example),
        description=description,
    )


def matching(
    pattern: str,
    *,
    max_length: int | None = None,
    example: str | None = None,
    description: str | None = None,
) -> Meta:
    """A text that matches `pattern`, which begins with ^ and ends with $."""
    return Meta(
        # Python's $ also matches before a final newline; Postgres's and JSON Schema's do not.
        pattern=pattern.removesuffix("$") + r"\Z",
        min_length=1,
        max_length=max_length,
        examples=_listed(example),
        description=description,
        extra_json_schema={"pattern": pattern},
    )


def one_of(
    values: Iterable[str],
    *,
    name: str = "",
    example: str | None = None,
    description: str | None = None,
) -> Meta:
    """A text out of a list that is only known when the program runs, such as a registry's names.

    With a `name` the list is a component of the OpenAPI document.
    """
    listed = list(values)
    return Meta(
        pattern=rf"^(?:{'|'.join(map(re.escape, listed))})\Z",
        examples=_listed(example),
        description=description,
        extra={"choices": listed, "name": name},
    )


def amount(
    digits: int,
    places: int,
    *,
    sign: Sign = Sign.ANY,
    pattern: str | None = None,
    plain: bool = False,
    example: str | None = None,
    description: str | None = None,
) -> Meta:
    """Of a Decimal: so many digits, and so many of them behind the point.

    Shown with all its places, or `plain`: without idle zeros.
    """
    whole = rf"(0|[1-9]\d{{0,{digits - places - 1}}})"
    fraction = rf"(\.\d{{1,{places}}})?" if places else ""
    rule = AmountRule(pattern or f"^{sign.value}{whole}{fraction}$", places, plain=plain)
    return _ruled(rule, example, description)


def json_object(
    schema: Schema | None = None,
    *,
    example: dict[str, Any] | None = None,
    description: str | None = None,
) -> Meta:
    """Of a dict[str, Any]: free JSON of at most 64 KiB; `schema` may say what belongs in it."""
    free = {"type": "object", "additionalProperties": True}
    return _ruled(JsonRule(schema or free), example, description)


def unread(struct: type[Struct]) -> Meta:
    """Of a dict[str, Any]: published as `struct`, and read as one later, item by item."""
    return Meta(extra={"unread": struct})


def _ruled(rule: Any, example: Any, description: str | None) -> Meta:
    return Meta(extra={"rule": rule}, examples=_listed(example), description=description)


def _listed(example: Any) -> list[Any] | None:
    return None if example is None else [example]


Id = Annotated[int, Meta(ge=1, le=ID_MAX, examples=[7])]
Version = Annotated[int, Meta(ge=1, examples=[3])]
Integer = Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)]
Count = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Text = Annotated[str, text()]
Slug = Annotated[str, matching("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]
Instant = Annotated[
    datetime, Meta(extra={"rule": InstantRule()}, examples=["2026-01-31T08:00:00Z"])
]
JsonObject = Annotated[dict[str, Any], json_object()]
