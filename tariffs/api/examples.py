"""Examples of the four operations on a row, for the rooms that still keep theirs apart."""

from typing import Any

from rest.views import Example


def _crud(row: dict[str, Any], create: dict[str, Any], patch: dict[str, Any]) -> dict[str, Example]:
    return {
        "list": Example(response=row),
        "retrieve": Example(response=row),
        "create": Example(request=create, response=row),
        "partial_update": Example(request=patch, response={**row, **patch}),
    }
