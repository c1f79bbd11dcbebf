"""Row-level security: the second wall, which holds when a queryset forgets its filter."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.migrations.operations import RunSQL

ALL, NONE = "all", "none"

# Sub-selects are planned as InitPlans: evaluated once per statement, not once per row. A missing,
# empty or unreadable setting yields NULL, and NULL lets nothing through.
SEES_ALL = "(SELECT current_setting('fairwatt.scope', true) = 'all')"
SCOPE_TENANT = (
    "(SELECT CASE WHEN current_setting('fairwatt.scope', true) ~ '^[0-9]{1,18}$'"
    " THEN current_setting('fairwatt.scope', true)::bigint END)"
)


def tenant_rls(
    table: str, column: str = "tenant_id", *, null_is_shared: bool = False
) -> list[RunSQL]:
    """Migration operations: only rows of the connection's tenant exist, unless its scope is `all`.

    With `null_is_shared`, rows of no tenant may be read by every tenant, and written by none.
    """
    own = f"{SEES_ALL} OR {column} = {SCOPE_TENANT}"
    operations = [
        RunSQL(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY",
        ),
        policy(table, "own_tenant", f"FOR ALL USING ({own})"),
    ]
    if null_is_shared:
        shared = f"FOR SELECT USING ({column} IS NULL AND {SCOPE_TENANT} IS NOT NULL)"
        operations.append(policy(table, "shared", shared))
    return operations


def policy(table: str, name: str, rule: str) -> RunSQL:
    return RunSQL(
        f"CREATE POLICY {table}_{name} ON {table} {rule}", f"DROP POLICY {table}_{name} ON {table}"
    )


def set_scope(scope: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('fairwatt.scope', %s, false)", [scope])


@contextmanager
def scope(value: str) -> Iterator[None]:
    """Widen or narrow what this connection sees, and put back what it saw before."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('fairwatt.scope', true)")
        before = cursor.fetchone()[0] or NONE
    set_scope(value)
    try:
        yield
    finally:
        if connection.connection is not None and not connection.needs_rollback:
            set_scope(before)
