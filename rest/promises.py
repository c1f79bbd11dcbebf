"""Promises of the database that Django's models cannot say, for the migrations that make them."""

from django.db import migrations


def composite_key(
    table: str, column: str, target: str, shared: str = "tenant", on_delete: str = "NO ACTION"
) -> migrations.RunSQL:
    """`table` may name a `target` row only together with that row's own `shared` column."""
    name = f"{table}_{column}_of_{shared}"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}_id, {shared}_id) "
        f"REFERENCES {target} (id, {shared}_id) ON DELETE {on_delete}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )
