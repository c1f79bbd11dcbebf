"""Statements that are planned once per connection, for the few whose planning costs the most."""

from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection

# Django turns psycopg's prepared statements off, and binds values in the client, where nothing
# can be prepared; its own cursors are not touched by switching them on.
_THRESHOLD = 5


def fetch(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run the query and return its rows; errors are Django's, as from its own cursors."""
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    raw = connection.connection
    raw.prepare_threshold = _THRESHOLD
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        cursor.execute(query, values, prepare=True)
        return cursor.fetchall()
