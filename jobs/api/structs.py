"""Lets views declare the structs of jobs/specs.py as inputs, and the OpenAPI document show them."""

from typing import Any, ClassVar

import msgspec
from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework.serializers import BaseSerializer, empty

from jobs import specs, structs

Schema = dict[str, Any]


class StructInput(BaseSerializer[Any]):
    """An input that is read into a struct; views get the struct itself."""

    struct: ClassVar[type[msgspec.Struct]]

    def run_validation(self, data: Any = empty) -> Any:
        return structs.read(self.struct, data)


class StructInputExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    target_class = StructInput
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> Schema:
        return schema_of(self.target.struct)


def schema_of(struct: type[msgspec.Struct]) -> Schema:
    """The struct's JSON schema in the words of OpenAPI 3.0, without references."""
    (root,), components = msgspec.json.schema_components([struct])
    schema: Schema = _translated(root, components)
    return schema


def _translated(node: Any, components: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_translated(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        found = components[node["$ref"].rpartition("/")[2]]
        return _translated({**found, **_without(node, "$ref")}, components)
    node = _without(_nullable(node), "title")
    if "exclusiveMinimum" in node:
        node = {**node, "minimum": node["exclusiveMinimum"], "exclusiveMinimum": True}
    if "enum" in node:
        node = {"type": "string", **node}
    if "pattern" in node and isinstance(node["pattern"], str):
        node = {**node, "pattern": node["pattern"].removesuffix(specs.END)}
    return {
        name: value if name in {"default", "example"} else _translated(value, components)
        for name, value in node.items()
    }


def _nullable(node: Schema) -> Schema:
    """OpenAPI 3.0 knows no type null."""
    choices = node.get("anyOf", [])
    others = [choice for choice in choices if choice != {"type": "null"}]
    if len(others) == len(choices) or len(others) != 1:
        return node
    return {**others[0], **_without(node, "anyOf"), "nullable": True}


def _without(node: Schema, name: str) -> Schema:
    return {key: value for key, value in node.items() if key != name}


class JobSubmit(StructInput):
    struct = specs.JobSpec


class JobPatch(StructInput):
    struct = specs.JobChanges


class JobsBulkSubmit(StructInput):
    struct = specs.JobsBulk


class ArraySubmit(StructInput):
    struct = specs.ArraySpec


class ProfileCreate(StructInput):
    struct = specs.ProfileSpec


class ProfilePatch(StructInput):
    struct = specs.ProfileChanges


class PointsAdd(StructInput):
    struct = specs.PointsSpec


class ProfilingCreate(StructInput):
    struct = specs.ProfilingSpec
