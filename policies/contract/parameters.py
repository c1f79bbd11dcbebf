"""Parameter structs of the policies: what they have in common, and how a bad one is reported."""

import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from policies.value_fault import pointer


class ParameterError(ValueError):
    """A refused policy name or parameter; `pointer` is an RFC 6901 pointer into the parameters."""

    def __init__(self, code: str, pointer: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.pointer = pointer
        self.message = message


class Finite(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters whose numbers are all finite."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"Expected a finite number - at `$.{name}`")


P = TypeVar("P", bound=msgspec.Struct)


def convert(parameters: Mapping[str, Any], model: type[P]) -> P:
    try:
        return msgspec.convert(dict(parameters), model)
    except msgspec.ValidationError as error:
        raise _explained(str(error)) from error


_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<name>.*)`", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\.([^.\[]+)")


def _explained(text: str) -> ParameterError:
    where = _WHERE.match(text)
    what, path = (where["what"], where["path"] or "") if where else (text, "")
    steps = [number or name for number, name in _STEP.findall(path)]
    unknown = _UNKNOWN.search(what)
    if unknown:
        steps.append(unknown["name"])
        return ParameterError("unknown_parameter", pointer(*steps), what)
    code = "wrong_type" if ", got `" in what or "at `key`" in what else "out_of_range"
    return ParameterError(code, pointer(*steps), what)
