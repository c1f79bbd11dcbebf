"""What Django's models cannot say: row-level security."""

from django.db import migrations

from tenancy.rls import tenant_rls


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_tables"), ("tenancy", "0002_walls")]

    operations = [*tenant_rls("storage_blob"), *tenant_rls("storage_upload")]
