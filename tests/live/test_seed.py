"""The proofs are as good as the rows they look for: new tables and addresses must be added."""

from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from msgspec.structs import replace
from psycopg import sql

from agent import wire
from tests.agent.messages import REGISTER
from tests.live.access import NOBODY, access
from tests.live.conftest import Live
from tests.live.database import REFUSED
from tests.live.operations import Operation, operations
from tests.live.world import CANARY

# Words from lists that the code or the database fixes, and hashes.
FIXED = [
    *("state", "from_state", "to_state", "kind", "role", "span", "prefix", "hash"),
    *("stream", "method", "currency", "predicted_by", "basis", "source", "cause"),
    *("processes", "digest", "format", "parts", "events"),
]
TEXTUAL = ["text", "character varying", "jsonb", "ARRAY", "bytea"]


def columns_of_tenants(live: Live) -> list[tuple[str, str, bool]]:
    """Table, column, and whether it holds text, of all tables whose rows belong to a tenant."""
    with live.database.connect() as connection:
        found = connection.execute(
            "SELECT table_name, column_name, data_type = ANY(%s) AND column_name <> ALL(%s)"
            " FROM information_schema.columns c WHERE table_schema = 'public'"
            " AND (table_name = 'tenancy_tenant' OR EXISTS (SELECT FROM"
            "  information_schema.columns t WHERE t.table_name = c.table_name"
            "  AND t.table_schema = 'public' AND t.column_name = 'tenant_id'))",
            [TEXTUAL, FIXED],
        ).fetchall()
    return [(str(table), str(column), bool(textual)) for table, column, textual in found]


def values_of_theirs(live: Live, table: str, column: str) -> list[str]:
    """But not that other tests were refused."""
    statement = sql.SQL(
        "SELECT ({column})::text FROM {table} t WHERE {owner} = %s"
        " AND to_jsonb(t)->>'action' IS DISTINCT FROM {refused}"
    ).format(
        refused=REFUSED,
        column=sql.Identifier(column),
        table=sql.Identifier(table),
        owner=sql.Identifier("id" if table == "tenancy_tenant" else "tenant_id"),
    )
    with live.database.connect() as connection:
        # As readable text, where Postgres would print hexadecimal digits.
        connection.execute("SET bytea_output = escape")
        rows = connection.execute(statement, [live.world.theirs["tenants"]])
        return [str(value) for (value,) in rows if value is not None]


def test_every_text_of_the_other_tenant_carries_the_canary(live: Live) -> None:
    """Otherwise its leak would go unseen."""
    for table, column, textual in columns_of_tenants(live):
        found = values_of_theirs(live, table, column)
        if column == "tenant_id":
            assert found, f"tests/live/seed_tenant.py must make a row of {table}"
        for text in found if textual else []:
            assert CANARY in text.lower(), f"{table}.{column} of theirs is {text!r}"


@pytest.mark.parametrize("operation", operations(), ids=str)
def test_every_operation_can_be_asked_and_has_its_callers(live: Live, operation: Operation) -> None:
    """Both raise what to add, and where."""
    assert access(operation).read
    assert "{" not in operation.address(live.world)
    assert "{" not in operation.address(live.world, "theirs")


def unpublished() -> set[str]:
    """Addresses of the API that the schema does not name."""
    published = {operation.path.strip("/") for operation in operations()}
    return {path for path in addresses(get_resolver()) if path not in published}


def addresses(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        route = before + str(entry.pattern).removeprefix("^").removesuffix("$").removesuffix("/?")
        if isinstance(entry, URLPattern):
            path = route.strip("/")
            if path.startswith("api/v1/") and "(?P" not in path:
                yield path
        else:
            yield from addresses(entry, route)


def test_what_the_schema_does_not_name_is_the_schema_and_the_agents() -> None:
    agents = {path for path in unpublished() if path.startswith("api/v1/agent/")}
    ways = ("register", "sync", "telemetry", "logs")
    assert agents == {f"api/v1/agent/{way}" for way in ways}
    assert unpublished() - agents == {"api/v1/schema"}


def test_only_nodes_speak_as_agents(live: Live) -> None:
    message = wire.encode(replace(REGISTER, join_token=None))
    for path in unpublished() - {"api/v1/schema"}:
        for caller in (*NOBODY, "member", "admin", "operator", "attempt", "their_admin"):
            answer = live.send(caller, "POST", f"/{path}", content=message)
            assert answer.status_code == (401 if caller in NOBODY else 403), (path, caller)
            assert answer.headers["Content-Type"] == "application/problem+json"
    assert live.database.changes() == {}
