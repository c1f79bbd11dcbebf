"""What Django's models cannot say: composite keys and row-level security."""

from django.db import migrations

from tenancy.rls import tenant_rls


def composite_key(table: str, column: str, target: str) -> migrations.RunSQL:
    """`table` may name a `target` row only together with that row's own tenant."""
    name = f"{table}_{column}_of_tenant"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}_id, tenant_id) "
        f"REFERENCES {target} (id, tenant_id) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


# A composite key with a NULL in it holds nothing, and an operator's rows have no tenant.
RUN_OF_SIMULATION = migrations.RunSQL(
    "ALTER TABLE whatif_simulationrun ADD CONSTRAINT whatif_simulationrun_simulation_fk "
    "FOREIGN KEY (simulation_id) REFERENCES whatif_simulation (id) ON DELETE CASCADE",
    "ALTER TABLE whatif_simulationrun DROP CONSTRAINT whatif_simulationrun_simulation_fk",
)


class Migration(migrations.Migration):
    dependencies = [("whatif", "0001_initial"), ("jobs", "0002_promises")]

    operations = [
        composite_key("whatif_simulationrun", "simulation", "whatif_simulation"),
        RUN_OF_SIMULATION,
        composite_key("whatif_forecastjob", "job", "jobs_job"),
        *tenant_rls("whatif_simulation"),
        *tenant_rls("whatif_simulationrun"),
        *tenant_rls("whatif_forecastjob"),
    ]
