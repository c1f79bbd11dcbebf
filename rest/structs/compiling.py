"""From a struct's annotations to its nodes, once per struct."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from msgspec import NODEFAULT, Struct, inspect

from rest.structs.containers import (
    ListNode,
    MapNode,
    Member,
    NullableNode,
    StructNode,
    UnreadNode,
)
from rest.structs.nodes import (
    MISSING,
    AnyNode,
    BooleanNode,
    ChoiceNode,
    NumberNode,
    RuledNode,
    ShapeNode,
    TextNode,
)
from rest.structs.rules import Schema

Show = Callable[..., Any]


def compiled(struct: type[Struct], show: Show) -> StructNode:
    """`show` is what turns a source into a nested struct."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - narrows the type
    node = StructNode(struct, show)
    node.members = tuple(
        Member(
            name=field.encode_name,
            node=_node(field.type, show),
            required=field.required,
            default=_default(field),
        )
        for field in info.fields
    )
    return node


def _default(field: inspect.Field) -> Any:
    if field.default is not NODEFAULT:
        return field.default
    return MISSING if field.default_factory is NODEFAULT else field.default_factory()


def _node(info: Any, show: Show, said: Schema | None = None) -> ShapeNode:  # noqa: PLR0911 - a table in code
    match info:
        case inspect.Metadata():
            return _declared(info, show)
        case inspect.UnionType():
            return NullableNode(_only(info, show), said)
        case inspect.IntType():
            return NumberNode(info, whole=True, said=said)
        case inspect.FloatType():
            return NumberNode(info, whole=False, said=said)
        case inspect.StrType():
            return TextNode(info, said)
        case inspect.BoolType():
            return BooleanNode(said)
        case inspect.LiteralType():
            return ChoiceNode([str(value) for value in info.values], said)
        case inspect.EnumType() | inspect.CustomType() if issubclass(info.cls, Enum):
            # `Job.State` is JobState.
            known_as = info.cls.__qualname__.replace(".", "")
            values = [member.value for member in info.cls]
            return ChoiceNode(values, said, component_name=known_as)
        case inspect.ListType():
            return ListNode(_node(info.item_type, show), info, said)
        case inspect.DictType():
            name, item = _node(info.key_type, show), _node(info.value_type, show)
            return MapNode(name, item, info, said)
        case inspect.StructType():
            return _struct_node(info.cls, show, said)
        case inspect.AnyType():
            return AnyNode(said)
    raise TypeError(f"{info} has no rule; declare it with the types of rest.structs.")


def _declared(info: inspect.Metadata, show: Show) -> ShapeNode:
    """A type with words, and perhaps a rule, of ours."""
    said, extra = info.extra_json_schema or {}, info.extra or {}
    if isinstance(info.type, inspect.Metadata):
        inner = info.type
        said, extra = {**(inner.extra_json_schema or {}), **said}, {**(inner.extra or {}), **extra}
        return _declared(inspect.Metadata(inner.type, said, extra), show)
    if isinstance(info.type, inspect.UnionType):
        return NullableNode(_only(info.type, show, extra), said)
    if "rule" in extra:
        return RuledNode(extra["rule"], said)
    if "unread" in extra:
        return UnreadNode(_struct_node(extra["unread"], show, said))
    if "choices" in extra:
        return ChoiceNode(extra["choices"], said, component_name=extra["name"])
    return _node(info.type, show, said)


def _only(union: inspect.UnionType, show: Show, extra: Schema | None = None) -> ShapeNode:
    kinds = [kind for kind in union.types if not isinstance(kind, inspect.NoneType)]
    if len(kinds) != 1:
        raise TypeError(f"A field has one type, or one and null, not {union}.")
    kind = kinds[0]
    return _declared(inspect.Metadata(kind, extra=extra), show) if extra else _node(kind, show)


def _struct_node(struct: type[Struct], show: Show, said: Schema | None) -> StructNode:
    node = compiled(struct, show)
    examples = (said or {}).get("examples")
    node.said = {name: value for name, value in (said or {}).items() if name != "examples"}
    if examples:
        node.own_example = examples[0]
    return node
