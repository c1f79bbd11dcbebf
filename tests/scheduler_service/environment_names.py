"""The environment variables that the code reads, taken from the code itself."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    *("scheduler_service", "whatif", "engines", "scheduling", "energy", "jobs", "clusters"),
    *("webhooks", "tariffs", "storage", "tenancy", "rest"),
)
_READERS = {"text", "words", "networks", "integer", "number", "secret", "sealing_keys", "policies"}


@cache
def names_read() -> frozenset[str]:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    return frozenset(name for file in files for name in names_in(file.read_text()))


def names_in(source: str) -> set[str]:
    return {name for node in ast.walk(ast.parse(source)) for name in _names(node)}


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="environment"), attr=reader),
            args=[ast.Constant(value=str(name)), *_],
        ) if reader in _READERS:
            yield name
        case ast.Call(
            func=ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="os"), attr="environ"), attr="get"
            ),
            args=[ast.Constant(value=str(name)), *_],
        ):
            yield name
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="os"), attr="getenv"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            yield name
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id="os"), attr="environ"),
            slice=ast.Constant(value=str(name)),
            ctx=ast.Load(),
        ):
            yield name
        case ast.Compare(
            left=ast.Constant(value=str(name)),
            comparators=[ast.Attribute(value=ast.Name(id="os"), attr="environ")],
        ):
            yield name
