"""After tests that commit, all tables are emptied: also those that nobody may empty."""

from typing import Any

import pytest
from django.db.backends.postgresql.operations import DatabaseOperations

APPEND_ONLY = ("tenancy_auditrow", "tenancy_auditseal")


def pytest_configure() -> None:
    pytest.MonkeyPatch().setattr(DatabaseOperations, "sql_flush", _flush_of(DatabaseOperations))


def _flush_of(operations: type[DatabaseOperations]) -> Any:
    original = operations.sql_flush

    def sql_flush(self: DatabaseOperations, *args: Any, **options: Any) -> list[str]:
        return [*triggers("DISABLE"), *original(self, *args, **options), *triggers("ENABLE")]

    return sql_flush


def triggers(verb: str) -> list[str]:
    """What the owner of the tables can do, and the service does not."""
    return [f"ALTER TABLE {table} {verb} TRIGGER USER" for table in APPEND_ONLY]
