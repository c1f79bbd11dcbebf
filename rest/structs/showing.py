"""Output structs made from rows: compiled once per struct, then a few calls per row."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

from rest.structs.base import From
from rest.structs.compiling import compiled
from rest.structs.containers import Member, NullableNode, StructNode
from rest.structs.nodes import Change

S = TypeVar("S", bound=Struct)
# Every object has it: it stands in for members that `show` is given by name.
_ANYTHING = "__class__"


def show(struct: type[S], source: Any, /, **members: Any) -> S:
    """`source`, a row or a mapping, as a `struct`; `members` are those that it does not have."""
    fetch, changes, places = _plan(struct, isinstance(source, Mapping), tuple(members))
    values = fetch(source)
    for name, value in members.items():
        values[places[name]] = value
    for index, change in changes:
        value = values[index]
        if value is not None and value is not UNSET:
            values[index] = change(value)
    return struct(*values)


@cache
def node_of(struct: type[Struct]) -> StructNode:
    return compiled(struct, show)


@cache
def _plan(
    struct: type[Struct], mapping: bool, given: tuple[str, ...]
) -> tuple[Callable[[Any], list[Any]], list[tuple[int, Change]], dict[str, int]]:
    """How to fetch all members, which of them to change, and where the given ones stand."""
    members, paths = node_of(struct).members, _paths(struct)
    names, changes = [], []
    for index, member in enumerate(members):
        path = "" if member.name in given else paths[member.name]
        name, deeper = _steps(path, member, mapping)
        names.append(name)
        change = _then(deeper, member.node.shower())
        if change is not None:
            changes.append((index, change))
    optional = any(not member.required for member in members)
    places = {member.name: index for index, member in enumerate(members)}
    return _fetcher(names, mapping, optional), changes, places


def _paths(struct: type[Struct]) -> dict[str, str]:
    found = {}
    for field in msgspec.structs.fields(struct):
        said = getattr(field.type, "__metadata__", ())
        paths = [note.path for note in said if isinstance(note, From)]
        found[field.encode_name] = paths[-1] if paths else field.name
    return found


def _steps(path: str, member: Member, mapping: bool) -> tuple[str, str]:
    """The name to fetch, and what lies deeper; a path that cannot end early is fetched whole."""
    if not path:
        return _ANYTHING, ""
    if not mapping and not isinstance(member.node, NullableNode):
        return path, ""
    first, _, deeper = path.partition(".")
    return first, deeper


def _then(deeper: str, change: Change | None) -> Change | None:
    if not deeper:
        return change
    walk = partial(_walked, deeper.split("."))
    return walk if change is None else lambda value: _changed(walk(value), change)


def _changed(value: Any, change: Change) -> Any:
    return None if value is None else change(value)


def _walked(steps: list[str], value: Any) -> Any:
    for step in steps:
        if value is None:
            return None
        value = value.get(step) if isinstance(value, Mapping) else getattr(value, step)
    return value


def _fetcher(names: list[str], mapping: bool, optional: bool) -> Callable[[Any], list[Any]]:
    if mapping:
        return lambda source: [source.get(name, UNSET) for name in names]
    if optional:
        return lambda source: [getattr(source, name, UNSET) for name in names]
    if len(names) == 1:
        return lambda source: [attrgetter(names[0])(source)]
    fetch = attrgetter(*names)
    return lambda source: [*fetch(source)]
