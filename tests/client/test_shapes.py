"""The client's structs against the schema that the service publishes: no field may drift."""

import inspect
import types
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Union, get_args, get_origin, get_type_hints

import fairwatt.structs
import msgspec
import pytest
from drf_spectacular.generators import SchemaGenerator
from fairwatt.structs import words

# Where the client's word differs from the component's.
NAMES = {
    "Dependency": "Dependency",
    "MetDependency": "DependencyOut",
    "BulkItem": "ItemResultOut",
    "BulkProblem": "ItemProblemOut",
    "BulkResult": "BulkOut",
    "LogPage": "LogOut",
    "LogStream": "StreamOut",
    "EnergySums": "SumsOut",
    "EnergyWindow": "WindowOut",
    "MeterReading": "MeterOut",
    "JoinToken": "JoinTokenWithSecret",
    "SimulationProgress": "ProgressOut",
    "SimulationRun": "RunOut",
    "SimulationSpec": "SimulationCreate",
    "PowerBudgetSpec": "PowerBudgetIn",
    "PolicyChoice": "PolicyIn",
    "GpuModel": "GpuIn",
    "Trace": "TraceIn",
    "Generate": "GenerateIn",
    "Nodes": "NodesIn",
    "Machines": "MachinesIn",
    "Workdir": "WorkdirSpec",
    "Mount": "MountSpec",
    "ArtifactPath": "ArtifactSpec",
}
SENT = (
    "Workdir",
    "Mount",
    "ArtifactPath",
    "SecretUse",
    "Upload",
    "Spec",
    "Patch",
    "PolicyChoice",
    "GpuModel",
    "Trace",
    "Generate",
    "Nodes",
    "Machines",
)


def _structs() -> Iterator[type]:
    for module in iter_modules(fairwatt.structs.__path__, "fairwatt.structs."):
        for _, found in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(found, msgspec.Struct) and found.__module__ == module.name:
                yield found


STRUCTS = sorted(_structs(), key=lambda each: each.__name__)


@pytest.fixture(scope="module")
def components() -> dict[str, Any]:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    found: dict[str, Any] = schema["components"]["schemas"]
    return found


def _component(struct: type, components: dict[str, Any]) -> dict[str, Any]:
    name = struct.__name__
    found = NAMES.get(name) or (f"{name}Out" if f"{name}Out" in components else name)
    component: dict[str, Any] = components[found]
    return component


def _sent(struct: type) -> bool:
    return struct.__name__.endswith(SENT) or struct.__name__ == "Dependency"


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda each: each.__name__)
def test_every_field_is_published(struct: type, components: dict[str, Any]) -> None:
    published = set(_component(struct, components)["properties"])
    assert set(struct.__struct_fields__) <= published  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "struct", [each for each in STRUCTS if not _sent(each)], ids=lambda each: each.__name__
)
def test_what_may_be_null_may_be_none_here(struct: type, components: dict[str, Any]) -> None:
    component = _component(struct, components)
    hints = get_type_hints(struct)
    for name, published in component["properties"].items():
        if name in hints:
            may_lack = published.get("nullable", False) or name not in component["required"]
            assert _may_be_none(hints[name]) == may_lack, f"{struct.__name__}.{name}"


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda each: each.__name__)
def test_states_are_those_of_the_service(struct: type, components: dict[str, Any]) -> None:
    published = _component(struct, components)["properties"]
    for name, hint in get_type_hints(struct).items():
        for word in _words(hint):
            values = set(_enum(published[name], components)) - {None}
            assert values == {member.value for member in word}, f"{struct.__name__}.{name}"


def test_specs_offer_all_that_the_service_must_have(components: dict[str, Any]) -> None:
    assert set(components["JobSpec"]["required"]) <= set(fairwatt.JobSpec.__struct_fields__)


def test_a_state_of_a_newer_service_is_kept() -> None:
    found = msgspec.json.decode(b'"hibernating"', type=words.JobState)
    assert found == "hibernating"
    assert not found.ended
    assert found is not words.JobState.QUEUED


def _may_be_none(hint: Any) -> bool:
    return get_origin(hint) in {Union, types.UnionType} and type(None) in get_args(hint)


def _words(hint: Any) -> Iterator[type[Enum]]:
    for part in (hint, *get_args(hint)):
        if inspect.isclass(part) and issubclass(part, words.Word):
            yield part


def _enum(published: dict[str, Any], components: dict[str, Any]) -> list[Any]:
    for part in (published, *published.get("allOf", []), *published.get("oneOf", [])):
        if "$ref" in part:
            return _enum(components[part["$ref"].rsplit("/", 1)[-1]], components)
        if "enum" in part:
            return list(part["enum"])
    return []
