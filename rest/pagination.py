"""Keyset pagination: page 5,000 costs what page 1 costs."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.core.exceptions import ValidationError
from django.db.models import F, Model, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from rest_framework.pagination import BasePagination
from rest_framework.request import Request

from rest.json import encode
from rest.problems import Contradiction, Invalid
from rest.structs.types import INT64_MAX

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
PARAMETERS = ("limit", "cursor", "ordering")


class KeysetPagination(BasePagination):
    """Reads `limit`, `cursor` and `ordering`; the view names the columns in `ordering_fields`."""

    def paginate_queryset(  # type: ignore[override]
        self,
        queryset: QuerySet[Any],
        request: Request,
        view: Any = None,
    ) -> list[Any]:
        ordering = _ordering(request, view.ordering_fields)
        limit = _limit(request)
        cursor = request.query_params.get("cursor")
        column = ordering.removeprefix("-")
        rows = queryset.order_by(*_order_by(ordering))
        if cursor is not None:
            position = _position(cursor, ordering, queryset.model)
            lookup = TupleLessThan if ordering.startswith("-") else TupleGreaterThan
            names = (column,) if column == "id" else (column, "id")
            rows = rows.filter(lookup(Tuple(*map(F, names)), position))
        page = list(rows[: limit + 1])
        self.next_cursor = _cursor(ordering, page[limit - 1]) if len(page) > limit else None
        return page[:limit]

    def page(self, items: Sequence[Any]) -> dict[str, Any]:
        return {"items": items, "next": self.next_cursor}

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["items", "next"],
            "properties": {
                "items": {**schema, "maxItems": LIMIT_MAX},
                "next": {
                    "type": "string",
                    "nullable": True,
                    "description": "Send it as `cursor` for the next page; null on the last.",
                },
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        orderings = [sign + name for name in view.ordering_fields for sign in ("", "-")]
        return [
            _parameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
                "How many items a page holds.",
            ),
            _parameter(
                "cursor",
                {"type": "string", "minLength": 1, "maxLength": 1000},
                "The `next` of the page before, sent with the same ordering.",
            ),
            _parameter(
                "ordering",
                {"type": "string", "enum": orderings, "default": orderings[1]},
                "Column to order by; a leading dash means descending.",
            ),
        ]


def _parameter(name: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": description,
        "schema": dict(schema),
    }


def _limit(request: Request) -> int:
    text = request.query_params.get("limit")
    if text is None:
        return LIMIT_DEFAULT
    limit = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid.at("?limit", "invalid_limit", f"limit must be 1 to {LIMIT_MAX}.")
    return limit


def _ordering(request: Request, allowed: Sequence[str]) -> str:
    """The first allowed column, newest first, unless the caller names another."""
    given = request.query_params.get("ordering", f"-{allowed[0]}")
    if given.removeprefix("-") not in allowed:
        detail = f"ordering must be one of {', '.join(allowed)}, with an optional leading dash."
        raise Invalid.at("?ordering", "invalid_ordering", detail)
    return given


def _order_by(ordering: str) -> tuple[str, ...]:
    if ordering.removeprefix("-") == "id":
        return (ordering,)
    return (ordering, "-id" if ordering.startswith("-") else "id")


def _cursor(ordering: str, row: Model) -> str:
    column = ordering.removeprefix("-")
    value = [ordering, row.pk] if column == "id" else [ordering, getattr(row, column), row.pk]
    return base64.urlsafe_b64encode(encode(value)).decode().rstrip("=")


def _position(cursor: str, ordering: str, model: type[Model]) -> tuple[Any, ...]:
    """The cursor's values, checked as if they were input: a client may have changed them."""
    column = ordering.removeprefix("-")
    names = (column,) if column == "id" else (column, "id")
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        made_for, *values = msgspec.json.decode(text, type=list[str | int | float])
        position = tuple(_value(model, *pair) for pair in zip(names, values, strict=True))
    except (ValueError, TypeError, binascii.Error, ValidationError, msgspec.MsgspecError):
        raise _bad_cursor("The cursor is not one of ours; start without it.") from None
    if made_for != ordering:
        raise _bad_cursor("The cursor was made for another ordering; start without it.")
    return position


def _value(model: type[Model], name: str, raw: str | float) -> Any:
    if isinstance(raw, str) and "\x00" in raw:
        raise ValueError
    value = model._meta.get_field(name).to_python(raw)  # type: ignore[union-attr]
    if value is None or (isinstance(value, int) and abs(value) > INT64_MAX):
        raise ValueError
    return value


def _bad_cursor(detail: str) -> Contradiction:
    return Contradiction.at("?cursor", "invalid_cursor", detail)
