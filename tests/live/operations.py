"""Every operation of the published schema, and how to ask for it with ids that exist."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from tests.live.world import World

Schema = dict[str, Any]
JSON = "application/json"
SAFE = frozenset({"GET", "HEAD"})
_PLACE = re.compile(r"(?P<collection>[^/]+)/\{(?P<name>\w+)\}")


@dataclass(frozen=True, eq=False)
class Operation:
    id: str
    room: str
    method: str
    path: str
    query: tuple[str, ...]
    if_match: bool
    body: Any
    body_schema: Any

    def __str__(self) -> str:
        return self.id

    @property
    def names_a_row(self) -> bool:
        return "{" in self.path

    def address(self, world: World, whose: str = "ours") -> str:
        """An id in the path is one of the collection that stands before it."""
        return _PLACE.sub(
            lambda place: f"{place['collection']}/{world.id_of(place['collection'], whose)}",
            self.path,
        )

    def headers(self) -> dict[str, str]:
        return {"If-Match": "*"} if self.if_match else {}


@cache
def schema() -> Schema:
    document: Schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


@cache
def operations() -> tuple[Operation, ...]:
    return tuple(_operations(schema()))


def _operations(document: Schema) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            parameters = said.get("parameters", [])
            body = said.get("requestBody", {}).get("content", {}).get(JSON, {})
            yield Operation(
                id=said["operationId"],
                room=said["tags"][0],
                method=method.upper(),
                path=path,
                query=tuple(p["name"] for p in parameters if p["in"] == "query"),
                if_match=any(p["name"] == "If-Match" for p in parameters),
                body=body.get("example"),
                body_schema=resolved(document, body.get("schema", {})),
            )


def resolved(document: Schema, part: Any) -> Any:
    """The schema with every reference replaced by what it points to."""
    if isinstance(part, list):
        return [resolved(document, item) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return resolved(document, document["components"]["schemas"][part["$ref"].split("/")[-1]])
    if "allOf" in part:
        # A reference with words of its own.
        (target,) = part["allOf"]
        said = {name: value for name, value in part.items() if name != "allOf"}
        return {**resolved(document, target), **said}
    return {name: resolved(document, item) for name, item in part.items()}
