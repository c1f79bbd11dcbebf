"""How rows of one kind are read and written: what views and admin pages ask of a room."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Services:
    """How rows of one kind are read and written, over HTTP and in the admin alike.

    `values` and `changes` hold what was given; each write records its audit row.
    """

    read: Callable[[Any], QuerySet[Any]]
    create: Callable[[Any, Values], Any]
    update: Callable[[Any, Any, Values, datetime], Any]
    delete: Callable[[Any, Any], None]
