"""ETags from a row's `version`, and the conditional update they guard."""

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from django.db import models
from django.db.models import F
from django.http import HttpRequest

from rest.problems import Invalid, Problem

PATTERN = r'^(\*|"[!#-~]{1,100}"(, ?"[!#-~]{1,100}"){0,9})$'
_TAGS = re.compile(PATTERN[1:-1])
Row = TypeVar("Row", bound=models.Model)


class Versioned(Protocol):
    pk: Any
    version: int


def etag(prefix: str, row: Versioned) -> str:
    return f'"{prefix}{row.pk}-{row.version}"'


def _listed(header: str) -> list[str]:
    return [item.strip() for item in header.split(",")]


def expect_match(request: HttpRequest, current: str) -> None:
    """Refuse an update whose author has not seen the current version."""
    given = request.META.get("HTTP_IF_MATCH")
    if given is None:
        raise Problem(
            "Send If-Match with the ETag you read last, or `*` to overwrite whatever is there.",
            code="precondition_required",
            status=428,
        )
    if not _TAGS.fullmatch(given):
        detail = (
            'Write If-Match as `*` or as the ETag you read, quotes included, such as "job42-7".'
        )
        raise Invalid.at("If-Match", "invalid_if_match", detail)
    if given != "*" and current not in _listed(given):
        raise stale(current)


def stale(current: str | None = None) -> Problem:
    return Problem(
        "The resource changed since you read it; read it again and repeat the change.",
        code="precondition_failed",
        status=412,
        headers={"ETag": current} if current else None,
    )


def is_unchanged(request: HttpRequest, current: str) -> bool:
    given = request.META.get("HTTP_IF_NONE_MATCH")
    if given is None:
        return False
    # If-None-Match compares weakly (RFC 9110, 13.1.2).
    return given.strip() == "*" or current in [tag.removeprefix("W/") for tag in _listed(given)]


def update_versioned(row: Row, changes: Mapping[str, Any]) -> Row:
    """Write `changes` if nobody wrote since `row` was read; the row then carries them."""
    version: int = row.version  # type: ignore[attr-defined]
    written = (
        type(row)
        ._default_manager.filter(pk=row.pk, version=version)
        .update(**changes, version=F("version") + 1)
    )
    if written != 1:
        raise stale()
    for name, value in changes.items():
        setattr(row, name, value)
    row.version = version + 1  # type: ignore[attr-defined]
    return row


def delete_versioned(row: models.Model) -> None:
    """Delete the row if nobody wrote since it was read; the update locks it until the commit."""
    update_versioned(row, {})
    row.delete()
