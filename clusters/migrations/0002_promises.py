"""What models cannot say: composite keys, one currency per cluster, rung nodes, whose grants."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls

SAME_CURRENCY = """
ALTER TABLE clusters_cluster ADD CONSTRAINT clusters_cluster_tariff_of_currency
FOREIGN KEY (tariff_id, currency) REFERENCES tariffs_tariff (id, currency)
"""

# Whoever keeps an agent's connection hears that the node should be told something else
# (docs/agents-service.md). Syncs do not set the state, so they never come here.
RING_NODE = """
CREATE FUNCTION clusters_ring_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('fairwatt_nodes', NEW.id::text);
  RETURN NULL;
END $$
"""
ON_NODE = """
CREATE TRIGGER clusters_node_rings AFTER UPDATE OF state ON clusters_node
FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION clusters_ring_node()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("clusters", "0001_tables"),
        ("tariffs", "0002_promises"),
        ("tenancy", "0002_walls"),
    ]

    operations = [
        composite_key("clusters_node", "partition", "clusters_partition", "cluster"),
        composite_key("clusters_node", "rack", "clusters_rack", "cluster"),
        composite_key("clusters_rack", "switch", "clusters_switch", "cluster"),
        *tenant_rls("clusters_volumegrant"),
        migrations.RunSQL(
            SAME_CURRENCY,
            "ALTER TABLE clusters_cluster DROP CONSTRAINT clusters_cluster_tariff_of_currency",
        ),
        migrations.RunSQL(RING_NODE, "DROP FUNCTION clusters_ring_node"),
        migrations.RunSQL(ON_NODE, "DROP TRIGGER clusters_node_rings ON clusters_node"),
    ]
