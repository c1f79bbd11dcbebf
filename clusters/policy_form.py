"""A form for a policy's parameters, from the JSON schema that the policy publishes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies import registry
from rest.problems import Fault, Invalid

PREFIX = "parameter-"


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter; `value` is what stands in the form."""

    name: str
    description: str
    kind: str
    value: Any
    default: str
    range: str
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"


def fields(policy: str, values: Mapping[str, Any]) -> list[Field]:
    """In the schema's order, with the cluster's values where it has some."""
    return [_field(name, said, values.get(name)) for name, said in _properties(policy).items()]


def parameters(
    policy: str, sent: Mapping[str, str], stored: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What was sent, as the schema's types; what equals the default is left out.

    What equals the policy's `stored` parameters stays as it is there, defaults included.
    """
    found: dict[str, Any] = {}
    faults: list[Fault] = []
    before = stored or {}
    for name, said in _properties(policy).items():
        try:
            value = _read(said, sent.get(f"{PREFIX}{name}"))
        except ValueError as error:
            faults.append(Fault(f"/policy_parameters/{name}", "invalid", str(error)))
            continue
        if name in before and value == before[name]:
            found[name] = before[name]
        elif value is not None and value != _default(said):
            found[name] = value
    if faults:
        said_wrong = " ".join(f"{f.pointer.rpartition('/')[2]}: {f.detail}" for f in faults)
        raise Invalid(said_wrong, errors=faults)
    return found


def _properties(policy: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = registry.parameter_schema(policy)["properties"]
    return found


def _field(name: str, said: Mapping[str, Any], value: Any) -> Field:
    shown = said.get("default") if value is None else value
    return Field(
        name=name,
        description=said.get("description", ""),
        kind=_kind(said),
        value=shown if _kind(said) == "boolean" else _text(shown),
        default=_text(said.get("default")),
        range=_range(said),
        choices=tuple(said.get("enum", ())),
    )


def _default(said: Mapping[str, Any]) -> Any:
    """Lists are published as what they are in the policy's own struct: tuples."""
    default = said.get("default")
    return list(default) if isinstance(default, tuple) else default


def _kind(said: Mapping[str, Any]) -> str:
    return "choice" if "enum" in said else str(said["type"])


def _text(value: Any) -> str:
    """So that it is the same number when it is read again."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value).removesuffix(".0")


def _range(said: Mapping[str, Any]) -> str:
    low, above, high = said.get("minimum"), said.get("exclusiveMinimum"), said.get("maximum")
    lower = f"from {low:g}" if low is not None else f"above {above:g}" if above is not None else ""
    return f"{lower} to {high:g}".strip() if high is not None else lower


def _read(said: Mapping[str, Any], sent: str | None) -> Any:
    """None where nothing was sent; an unticked box sends nothing."""
    kind, text = _kind(said), (sent or "").strip()
    if kind == "boolean":
        return text == "on"
    if not text:
        return None
    if kind == "array":
        return [_number(part, float) for part in text.split(",")]
    if kind == "choice":
        return text
    return _number(text, int if kind == "integer" else float)


def _number(text: str, kind: type[int] | type[float]) -> float:
    try:
        return kind(text)
    except ValueError:
        words = "a whole number" if kind is int else "a number"
        raise ValueError(f"{text.strip()!r} is not {words}.") from None
