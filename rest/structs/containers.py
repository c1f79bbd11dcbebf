"""Nodes that hold other nodes: what may be null, lists, maps and structs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Manager
from msgspec import Struct

from rest.pointers import pointer
from rest.problems import Fault
from rest.structs.nodes import MISSING, AnyNode, Change, Path, Refer, ShapeNode
from rest.structs.rules import Schema, Unfit

_BOUNDS = frozenset(
    {
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
    }
)


class NullableNode(ShapeNode):
    def __init__(self, inner: ShapeNode, said: Schema | None = None) -> None:
        super().__init__(said)
        self.inner = inner

    def preparer(self, *, integers: bool) -> Change | None:
        inner = self.inner.preparer(integers=integers)
        return inner and (lambda value: None if value is None else inner(value))

    def shower(self) -> Change | None:
        return self.inner.shower()

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if value is not None:
            yield from self.inner.faults(value, path)

    def bare_schema(self, refer: Refer) -> Schema:
        inner = self.inner.schema(refer)
        if "$ref" in inner:
            return {"allOf": [inner], "nullable": True}
        if "enum" in inner:
            inner = {**inner, "enum": [*inner["enum"], None]}
        return {**inner, "nullable": True}

    def bare_example(self) -> Any:
        return self.inner.example() if self.inner.has_example else None

    @property
    def has_example(self) -> bool:
        return super().has_example or self.inner.has_example


class ListNode(ShapeNode):
    def __init__(self, item: ShapeNode, bounds: Any, said: Schema | None = None) -> None:
        super().__init__(said)
        self.item = item
        self.min_length, self.max_length = bounds.min_length, bounds.max_length

    def preparer(self, *, integers: bool) -> Change | None:
        inner = self.item.preparer(integers=integers)
        if inner is None:
            return None
        return lambda values: [*map(inner, values)] if type(values) is list else values

    def shower(self) -> Change | None:
        inner = self.item.shower()
        if isinstance(self.item, NullableNode) and inner is not None:
            return lambda values: [None if v is None else inner(v) for v in _rows(values)]
        return lambda values: [*map(inner, _rows(values))] if inner else list(_rows(values))

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault(pointer(path), "not_a_list", "Must be a list.")
            return
        yield from super().faults(value, path)
        for index, item in enumerate(value):
            yield from nonnull_faults(self.item, item, (*path, index))

    def check(self, value: Any) -> None:
        check_length(value, self.min_length, self.max_length, "items")

    def bare_schema(self, refer: Refer) -> Schema:
        schema: Schema = {"type": "array", "items": self.item.schema(refer)}
        if self.min_length is not None:
            schema["minItems"] = self.min_length
        if self.max_length is not None:
            schema["maxItems"] = self.max_length
        return schema

    def bare_example(self) -> Any:
        return [self.item.example()]

    @property
    def has_example(self) -> bool:
        return super().has_example or self.item.has_example


class MapNode(ShapeNode):
    """An object with names and values of one kind each."""

    def __init__(
        self, name: ShapeNode, item: ShapeNode, bounds: Any, said: Schema | None = None
    ) -> None:
        super().__init__(said)
        self.name, self.item = name, item
        self.min_length, self.max_length = bounds.min_length, bounds.max_length

    def preparer(self, *, integers: bool) -> Change | None:
        inner = self.item.preparer(integers=integers)
        if inner is None:
            return None
        return lambda value: (
            {name: inner(item) for name, item in value.items()} if type(value) is dict else value
        )

    def shower(self) -> Change | None:
        inner = self.item.shower()
        return inner and (lambda value: {name: inner(item) for name, item in value.items()})

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(pointer(path), "not_object", "Must be a JSON object.")
            return
        yield from super().faults(value, path)
        for name, item in value.items():
            yield from self.name.faults(name, (*path, name))
            yield from nonnull_faults(self.item, item, (*path, name))

    def check(self, value: Any) -> None:
        check_length(value, self.min_length, self.max_length, "members")

    def bare_schema(self, refer: Refer) -> Schema:
        schema: Schema = {
            "type": "object",
            "additionalProperties": self.item.schema(refer) or True,
        }
        if self.max_length is not None:
            schema["maxProperties"] = self.max_length
        return schema

    def bare_example(self) -> Any:
        return {}


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    node: ShapeNode
    required: bool
    default: Any = MISSING


class StructNode(ShapeNode):
    """An object with the members that a struct declares; published as a component of its name."""

    def __init__(self, struct: type[Struct], show: Callable[..., Any]) -> None:
        super().__init__()
        self.struct = struct
        self.component_name = struct.__name__
        self.closed = struct.__struct_config__.forbid_unknown_fields
        self.members: tuple[Member, ...] = ()
        self._show = show

    def preparer(self, *, integers: bool) -> Change | None:
        found = ((m.name, m.node.preparer(integers=integers)) for m in self.members)
        changes = [(name, change) for name, change in found if change is not None]
        if not changes:
            return None

        def prepare(value: Any) -> Any:
            if type(value) is not dict:
                return value
            changed = value.copy()
            for name, change in changes:
                if name in value:
                    changed[name] = change(value[name])
            return changed

        return prepare

    def shower(self) -> Change | None:
        return lambda source: self._show(self.struct, source)

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(pointer(path), "invalid", "Must be an object.")
            return
        if self.closed:
            yield from self._unknown(value, path)
        for member in self.members:
            if member.name in value:
                yield from nonnull_faults(member.node, value[member.name], (*path, member.name))
            elif member.required:
                yield Fault(pointer((*path, member.name)), "required", "This field is required.")

    def _unknown(self, value: dict[str, Any], path: Path) -> Iterator[Fault]:
        known = {member.name for member in self.members}
        for name in value:
            if name not in known:
                yield Fault(pointer((*path, name)), "unknown_field", "There is no such field.")

    def schema(self, refer: Refer) -> Schema:
        reference = refer(self)
        return {"allOf": [reference], **self.said} if self.said else reference

    def component(self, refer: Refer) -> Schema:
        schema: Schema = {"type": "object"}
        described = self.struct.__dict__.get("__doc__")
        if described:
            schema["description"] = " ".join(described.split())
        schema["properties"] = {m.name: self._property(m, refer) for m in self.members}
        if not self.closed:
            schema["properties"] = {n: unbounded(said) for n, said in schema["properties"].items()}
        required = [member.name for member in self.members if member.required]
        if required:
            schema["required"] = required
        if self.closed:
            schema["additionalProperties"] = False
        return schema

    @staticmethod
    def _property(member: Member, refer: Refer) -> Schema:
        schema = member.node.schema(refer)
        if member.default is MISSING:
            return schema
        if isinstance(member.node, StructNode):
            # Generators of clients know no default of an object, and it is said by its members.
            return schema
        schema = {"allOf": [schema]} if "$ref" in schema else schema
        return {**schema, "default": msgspec.to_builtins(member.default)}

    def bare_example(self) -> Any:
        """What is required, and whatever else has an example."""
        return {
            member.name: member.node.example()
            for member in self.members
            if member.required or member.node.has_example
        }


class UnreadNode(ShapeNode):
    """An object that is published as a struct, and read as one later, on its own."""

    def __init__(self, struct: StructNode) -> None:
        super().__init__()
        self.struct = struct

    def check(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise Unfit("not_object", "Must be a JSON object.")

    def schema(self, refer: Refer) -> Schema:
        return self.struct.schema(refer)

    def bare_example(self) -> Any:
        return self.struct.example()


def nonnull_faults(node: ShapeNode, value: Any, path: Path) -> Iterator[Fault]:
    if value is None and not isinstance(node, NullableNode | AnyNode):
        yield Fault(pointer(path), "null", "May not be null.")
    else:
        yield from node.faults(value, path)


def unbounded(schema: Schema) -> Schema:
    """Of an answer: what may be sent bounds nothing that is stored already."""
    kept = {name: value for name, value in schema.items() if name not in _BOUNDS}
    if kept.get("type") == "integer":
        kept["format"] = "int64"
    if "items" in kept:
        kept["items"] = unbounded(kept["items"])
    return kept


def check_length(value: Any, least: int | None, most: int | None, what: str) -> None:
    if least is not None and len(value) < least:
        raise Unfit("min_length", f"Must have at least {least} {what}.")
    if most is not None and len(value) > most:
        raise Unfit("max_length", f"May have at most {most} {what}.")


def _rows(values: Any) -> Any:
    return values.all() if isinstance(values, Manager) else values
