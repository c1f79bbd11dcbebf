"""A form for a policy's parameters, from the JSON schema that the policy publishes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policies import registry
from rest.problems import Invalid

_PREFIX = "parameter-"


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
        return f"{_PREFIX}{self.name}"


def fields(policy: str, values: Mapping[str, Any]) -> list[Field]:
    """In the schema's order, with the cluster's values where it has some."""
    properties = registry.parameter_schema(policy)["properties"]
    return [_field(name, said, values.get(name)) for name, said in properties.items()]


def parameters(policy: str, sent: Mapping[str, str]) -> dict[str, Any]:
    """What was sent, as the schema's types; what equals the default is left out."""
    found: dict[str, Any] = {}
    for name, said in registry.parameter_schema(policy)["properties"].items():
        if _kind(said) == "boolean":
            value: Any = sent.get(f"{_PREFIX}{name}") == "on"
        elif text := sent.get(f"{_PREFIX}{name}", "").strip():
            value = _read(name, said, text)
        else:
            continue
        if value != said.get("default"):
            found[name] = value
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


def _kind(said: Mapping[str, Any]) -> str:
    return "choice" if "enum" in said else str(said["type"])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _range(said: Mapping[str, Any]) -> str:
    low, above, high = said.get("minimum"), said.get("exclusiveMinimum"), said.get("maximum")
    lower = f"from {low:g}" if low is not None else f"above {above:g}" if above is not None else ""
    return f"{lower} to {high:g}".strip() if high is not None else lower


def _read(name: str, said: Mapping[str, Any], text: str) -> Any:
    kind = _kind(said)
    try:
        if kind == "array":
            return [float(part) for part in text.split(",")]
        if kind == "integer":
            return int(text)
        return float(text) if kind == "number" else text
    except ValueError:
        detail = f"{name}: {text!r} is not a number."
        raise Invalid.at(f"/policy_parameters/{name}", "invalid", detail) from None
