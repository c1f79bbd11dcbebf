"""What Django's models cannot say: composite keys and row-level security."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls

# A composite key with a NULL in it holds nothing, and an operator's rows have no tenant.
RUN_OF_SIMULATION = migrations.RunSQL(
    "ALTER TABLE whatif_simulationrun ADD CONSTRAINT whatif_simulationrun_simulation_fk "
    "FOREIGN KEY (simulation_id) REFERENCES whatif_simulation (id) ON DELETE CASCADE",
    "ALTER TABLE whatif_simulationrun DROP CONSTRAINT whatif_simulationrun_simulation_fk",
)


class Migration(migrations.Migration):
    dependencies = [("whatif", "0001_tables"), ("jobs", "0002_promises")]

    operations = [
        composite_key(
            "whatif_simulationrun", "simulation", "whatif_simulation", on_delete="CASCADE"
        ),
        RUN_OF_SIMULATION,
        composite_key("whatif_forecastjob", "job", "jobs_job", on_delete="CASCADE"),
        *tenant_rls("whatif_simulation"),
        *tenant_rls("whatif_simulationrun"),
        *tenant_rls("whatif_forecastjob"),
    ]
