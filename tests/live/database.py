"""The running service's database, seen from outside: clones, fingerprints, and walls taken down."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

# What signing in writes; nothing a caller asked for.
VOLATILE = ["last_used_at"]
# The audit tells of who was refused: that is no change.
REFUSED = "write.refused"


@dataclass(frozen=True)
class Database:
    url: str
    _seen: list[dict[str, object]] = field(default_factory=list, compare=False, repr=False)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, autocommit=True, options="-c fairwatt.scope=all")

    def named(self, name: str) -> "Database":
        return Database(urlsplit(self.url)._replace(path=f"/{name}").geturl())

    def create(self, name: str, template: str = "template1") -> "Database":
        """Another database of the same server; a template must have nobody connected to it."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with self.connect() as connection:
            # An earlier run may have left it on a server that is not thrown away.
            left = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(left)
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.named(name)

    def tables(self) -> list[str]:
        with self.connect() as connection:
            found = connection.execute(
                "SELECT relname FROM pg_class"
                " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"
            )
            return [str(name) for (name,) in found]

    @cached_property
    def _fingerprint(self) -> sql.Composed:
        each = sql.SQL(
            "SELECT {name}, count(*) || md5(coalesce(string_agg(line, '' ORDER BY line), ''))"
            " FROM (SELECT (to_jsonb(t) - {volatile}::text[])::text AS line FROM {table} t"
            "       WHERE to_jsonb(t)->>'action' IS DISTINCT FROM {refused}) lines"
        )
        return sql.SQL(" UNION ALL ").join(
            each.format(name=name, volatile=VOLATILE, table=sql.Identifier(name), refused=REFUSED)
            for name in self.tables()
        )

    def fingerprint(self) -> dict[str, object]:
        """Table by table, the number of rows and a hash of all they contain."""
        with self.connect() as connection:
            found = connection.execute(self._fingerprint).fetchall()
        return {str(name): rows for name, rows in found}

    def changes(self) -> dict[str, object]:
        """Tables that are not as they were at the last look."""
        before, now = self._seen[-1] if self._seen else {}, self.fingerprint()
        self._seen[:] = [now]
        return {name: rows for name, rows in now.items() if rows != before.get(name)}

    @contextmanager
    def without_row_level_security(self, *tables: str) -> Iterator[None]:
        with self.connect() as connection:
            for table in tables:
                _alter(connection, table, "DISABLE")
            try:
                yield
            finally:
                for table in tables:
                    _alter(connection, table, "ENABLE")

    def guarded_tables(self) -> list[str]:
        """Those that row-level security protects."""
        with self.connect() as connection:
            found = connection.execute("SELECT relname FROM pg_class WHERE relrowsecurity")
            return sorted(str(name) for (name,) in found)


def _alter(connection: psycopg.Connection[tuple[object, ...]], table: str, verb: str) -> None:
    statement = sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY")
    connection.execute(statement.format(sql.Identifier(table), sql.SQL(verb)))
