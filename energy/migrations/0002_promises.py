"""What Django's models cannot say: composite keys, an append-only ledger, row-level security."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls

LEDGER_TRIGGER = """
CREATE TRIGGER energy_ledgerrow_append_only BEFORE UPDATE OR DELETE
ON energy_ledgerrow FOR EACH STATEMENT EXECUTE FUNCTION fairwatt_append_only()
"""


class Migration(migrations.Migration):
    dependencies = [("energy", "0001_tables"), ("jobs", "0002_promises")]

    operations = [
        composite_key("energy_powerbudget", "partition", "clusters_partition", "cluster"),
        composite_key("energy_powerstate", "partition", "clusters_partition", "cluster"),
        composite_key("energy_powerbreach", "partition", "clusters_partition", "cluster"),
        composite_key("energy_meter", "attempt", "jobs_attempt"),
        composite_key("energy_ledgerrow", "attempt", "jobs_attempt"),
        migrations.RunSQL(
            LEDGER_TRIGGER, "DROP TRIGGER energy_ledgerrow_append_only ON energy_ledgerrow"
        ),
        *tenant_rls("energy_meter"),
        *tenant_rls("energy_ledgerrow"),
    ]
