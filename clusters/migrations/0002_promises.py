"""What Django's models cannot say: composite keys, and one currency per cluster."""

from django.db import migrations

from rest.promises import composite_key

SAME_CURRENCY = """
ALTER TABLE clusters_cluster ADD CONSTRAINT clusters_cluster_tariff_of_currency
FOREIGN KEY (tariff_id, currency) REFERENCES tariffs_tariff (id, currency)
"""


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_tables"), ("tariffs", "0002_promises")]

    operations = [
        composite_key("clusters_node", "partition", "clusters_partition", "cluster"),
        composite_key("clusters_node", "rack", "clusters_rack", "cluster"),
        composite_key("clusters_rack", "switch", "clusters_switch", "cluster"),
        migrations.RunSQL(
            SAME_CURRENCY,
            "ALTER TABLE clusters_cluster DROP CONSTRAINT clusters_cluster_tariff_of_currency",
        ),
    ]
