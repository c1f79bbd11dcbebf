"""Input read into msgspec structs: fast when it is right, and every fault named when it is not."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from rest.pointers import pointer
from rest.problems import Fault, Invalid

S = TypeVar("S", bound=msgspec.Struct)

# As msgspec prints what closes the patterns of jobs/specs.py, which is no concern of the caller.
_END = r"(?!\\n)"
_WHERE = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+)\]")


def read(struct: type[S], data: object, *path: str | int) -> S:
    """`data` as a `struct`; `path` is where in the body it stands."""
    try:
        return msgspec.convert(data, struct)
    except msgspec.ValidationError:
        pass
    # JSON Schema counts 2.0 as an integer, msgspec does not; nearly nobody writes it.
    exact = _integral(data)
    try:
        return msgspec.convert(exact, struct)
    except msgspec.ValidationError:
        raise Invalid(
            "The request does not fit the schema; `errors` says where.",
            errors=list(_faults(struct, exact, path)),
        ) from None


def _integral(data: object) -> Any:
    match data:
        case float() if data.is_integer():
            return int(data)
        case list():
            return [_integral(item) for item in data]
        case dict():
            return {name: _integral(item) for name, item in data.items()}
    return data


def _faults(
    struct: type[msgspec.Struct], data: object, path: tuple[str | int, ...]
) -> Iterator[Fault]:
    """msgspec stops at the first fault, so each field is read again on its own."""
    if not isinstance(data, dict):
        yield Fault(pointer(path), "invalid", "Must be an object.")
        return
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    for name, field in fields.items():
        if name in data:
            try:
                msgspec.convert({name: data[name]}, _alone(struct, name))
            except msgspec.ValidationError as error:
                yield _fault(str(error), path)
        elif field.required:
            yield Fault(pointer((*path, name)), "required", "This field is required.")
    for name in data.keys() - fields.keys():
        yield Fault(pointer((*path, name)), "unknown_field", "There is no such field.")


@cache
def _alone(struct: type[msgspec.Struct], name: str) -> type[msgspec.Struct]:
    (field,) = (field for field in msgspec.structs.fields(struct) if field.name == name)
    return msgspec.defstruct(struct.__name__, [(name, field.type)])


def _fault(message: str, path: tuple[str | int, ...]) -> Fault:
    where = _WHERE.search(message)
    text = message[: where.start()] if where else message
    steps = [
        step["name"] or int(step["index"])
        for step in _STEP.finditer(where["path"] if where else "")
    ]
    missing = re.fullmatch(r"Object missing required field `(\w+)`", text)
    if missing:
        return Fault(pointer((*path, *steps, missing[1])), "required", "This field is required.")
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL)
    if unknown:
        at = pointer((*path, *steps, unknown[1]))
        return Fault(at, "unknown_field", "There is no such field.")
    return Fault(pointer((*path, *steps)), "invalid", f"{text.replace(_END, '')}.")
