"""Structs at the door: one declaration reads, checks, publishes, exemplifies and shows a shape."""

from rest.structs.base import From, Input, Output, given, patch_of
from rest.structs.reading import read
from rest.structs.showing import node_of, show
from rest.structs.types import (
    Count,
    Id,
    Instant,
    Integer,
    JsonObject,
    Number,
    Sign,
    Slug,
    Text,
    Version,
    amount,
    json_object,
    matching,
    one_of,
    text,
    unread,
)

__all__ = [
    "Count",
    "From",
    "Id",
    "Input",
    "Instant",
    "Integer",
    "JsonObject",
    "Number",
    "Output",
    "Sign",
    "Slug",
    "Text",
    "Version",
    "amount",
    "given",
    "json_object",
    "matching",
    "node_of",
    "one_of",
    "patch_of",
    "read",
    "show",
    "text",
    "unread",
]
