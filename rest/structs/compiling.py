"""From a struct's annotations to its nodes, once per struct."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from msgspec import NODEFAULT, Struct, inspect

from rest.structs.containers import ListNode, MapNode, Member, NullableNode, StructNode
from rest.structs.nodes import (
    MISSING,
    AnyNode,
    BooleanNode,
    ChoiceNode,
    Node,
    NumberNode,
    RuledNode,
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


def _node(info: Any, show: Show, said: Schema | None = None, rule: Any = None) -> Node:  # noqa: PLR0911, PLR0912 - a table in code
    match info:
        case inspect.Metadata():
            rule = (info.extra or {}).get("rule", rule)
            return _node(info.type, show, {**(info.extra_json_schema or {}), **(said or {})}, rule)
        case inspect.UnionType():
            return NullableNode(_only(info, show, rule), said)
        case inspect.DecimalType() | inspect.DateTimeType() | inspect.DictType() if rule:
            return RuledNode(rule, said)
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
            return ChoiceNode([member.value for member in info.cls], said)
        case inspect.ListType():
            return ListNode(_node(info.item_type, show), info, said)
        case inspect.DictType():
            return MapNode(_node(info.value_type, show), info, said)
        case inspect.StructType():
            return _struct_node(info.cls, show, said)
        case inspect.AnyType():
            return AnyNode(said)
    raise TypeError(f"{info} has no rule; declare it with the types of rest.structs.")


def _only(union: inspect.UnionType, show: Show, rule: Any) -> Node:
    kinds = [kind for kind in union.types if not isinstance(kind, inspect.NoneType)]
    if len(kinds) != 1:
        raise TypeError(f"A field has one type, or one and null, not {union}.")
    return _node(kinds[0], show, None, rule)


def _struct_node(struct: type[Struct], show: Show, said: Schema | None) -> Node:
    node = compiled(struct, show)
    examples = (said or {}).get("examples")
    node.said = {name: value for name, value in (said or {}).items() if name != "examples"}
    if examples:
        node.own_example = examples[0]
    return node
