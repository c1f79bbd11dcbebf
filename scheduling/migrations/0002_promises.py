"""What Django's models cannot say: composite keys and row-level security."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0001_tables"), ("jobs", "0002_promises")]

    operations = [
        composite_key("scheduling_decision", "job", "jobs_job", on_delete="CASCADE"),
        *tenant_rls("scheduling_decision"),
    ]
