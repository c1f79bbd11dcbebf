"""The two kinds of struct at the door, and what is declared beside their fields."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType


class Input(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a caller sends: closed, bounded, never coerced."""


class Output(Struct, frozen=True):
    """What a caller gets; `show` makes one from a row, in the order of the fields."""


@dataclass(frozen=True, slots=True)
class From:
    """Where an output's member comes from, if not from the attribute of its own name."""

    path: str


def given(sent: Struct) -> dict[str, Any]:
    """The members that were sent or have a default, by name."""
    members = ((name, getattr(sent, name)) for name in sent.__struct_fields__)
    return {name: value for name, value in members if value is not UNSET}


def patch_of(
    create: type[Struct],
    name: str,
    *,
    omit: Iterable[str] = (),
    add: Mapping[str, Any] | None = None,
) -> type[Input]:
    """The partial update of what `create` makes: the same fields, none of them required."""
    left_out = set(omit)
    kept = {f.name: f.type for f in msgspec.structs.fields(create) if f.name not in left_out}
    fields = [(field, kind | UnsetType, UNSET) for field, kind in {**kept, **(add or {})}.items()]
    made = msgspec.defstruct(
        name, fields, bases=(Input,), module=create.__module__, frozen=True, kw_only=True
    )
    return cast("type[Input]", made)
