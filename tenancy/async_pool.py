"""Database connections of an asynchronous process: a few, and each transaction with its scope."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from django.db import connection
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

# What Django adds for its own cursors.
_OF_DJANGO = frozenset({"context", "cursor_factory", "prepare_threshold"})
# Longer than any of our statements should take; whoever waits is told to come back.
WAIT_S = 5.0

_OPEN = """
SELECT set_config('fairwatt.scope', %s, true), set_config('synchronous_commit', %s, true)
"""


def parameters() -> dict[str, Any]:
    """Those of Django's own connections: the same database, role and time limits."""
    given = connection.get_connection_params()
    return {name: value for name, value in given.items() if name not in _OF_DJANGO}


class AsyncPool:
    def __init__(self, most: int) -> None:
        self._errors = connection.wrap_database_errors
        self._pool = AsyncConnectionPool(
            kwargs=parameters(), min_size=1, max_size=most, timeout=WAIT_S, open=False
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(
        self, scope: str, *, durable: bool = True
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """Both settings end with the transaction; errors are Django's, as everywhere.

        What a crash of Postgres may forget is written with `durable=False`: nobody waits for disks.
        """
        with self._errors:
            async with self._pool.connection() as link:
                await link.execute(_OPEN, [scope, "on" if durable else "off"])
                yield link
