"""The data files that sources name, as patterns: `{…}` and names of variables become `*`."""

import ast
import re
import tomllib
from collections.abc import Iterator
from typing import Any

_BASES = {"data_directory", "DATA", "DATA_DIR", "data"}
# Most files name no data; reading them no further keeps this fast.
_WORTH_READING = re.compile(r"\.(csv|json)\b|data_directory|DATA|\bdata /")
_PACKED = re.compile(r"\.(csv|json)\.gz$")
_BELOW = re.compile(r"^[\w*-]+/.*\.(csv|json)(\.gz)?$")


def patterns_in_python(source: str) -> set[str]:
    """Paths below the data directory, and names of packed files wherever they are used."""
    if not _WORTH_READING.search(source):
        return set()
    tree = ast.parse(source)
    chains = [node for node in ast.walk(tree) if _is_join(node)]
    inner = {id(child) for node in chains for child in ast.walk(node) if child is not node}
    joined = {pattern for node in chains if id(node) not in inner for pattern in _joined(node)}
    inside = inner | {id(part) for node in ast.walk(tree) for part in _pieces(node)}
    texts = {_text(node) for node in ast.walk(tree) if id(node) not in inside} - {None}
    named = {text for text in texts if text and (_PACKED.search(text) or _BELOW.match(text))}
    return joined | named


def patterns_in_toml(source: str) -> set[str]:
    return {text for text in _strings(tomllib.loads(source)) if _BELOW.match(text)}


def _is_join(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _joined(node: ast.AST) -> Iterator[str]:
    """One path, where the chain begins at the data directory; else the packed file it ends in."""
    first, *others = _links(node)
    parts = [_text(other) or "*" for other in others]
    if _name(first) in _BASES and any(part != "*" for part in parts):
        yield "/".join(parts)
    elif _PACKED.search(parts[-1]):
        yield f"*/{parts[-1]}"


def _links(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_links(node.left), node.right]
    return [node]


def _name(node: ast.AST) -> str:
    match node:
        case ast.Call(func=function):
            return _name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _pieces(node: ast.AST) -> list[ast.expr]:
    return node.values if isinstance(node, ast.JoinedStr) else []


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{\w*\}", "*", text)
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "*" for value in values)
    return None


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
