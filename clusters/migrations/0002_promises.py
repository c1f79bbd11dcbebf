"""What Django's models cannot say: composite keys, whole hours, and row-level security."""

from django.db import migrations

from tenancy.rls import tenant_rls


def composite_key(table: str, column: str, target: str, shared: str) -> migrations.RunSQL:
    """`table` may name a `target` row only together with that row's own `shared` column."""
    name = f"{table}_{column}_of_{shared}"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}_id, {shared}_id) "
        f"REFERENCES {target} (id, {shared}_id)",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


def whole_hours(table: str) -> migrations.RunSQL:
    name = f"{table}_on_the_hour"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} "
        "CHECK (extract(epoch FROM starts_at) % 3600 = 0)",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial"), ("tenancy", "0002_walls")]

    operations = [
        composite_key("clusters_node", "partition", "clusters_partition", "cluster"),
        composite_key("clusters_node", "rack", "clusters_rack", "cluster"),
        composite_key("clusters_rack", "switch", "clusters_switch", "cluster"),
        whole_hours("clusters_tariffhour"),
        whole_hours("clusters_carbonhour"),
        *tenant_rls("clusters_gpuquota"),
    ]
