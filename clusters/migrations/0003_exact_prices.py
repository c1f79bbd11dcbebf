"""Prices as exact as policies/models computes them, one currency per cluster, GPUs with versions."""

from django.db import migrations, models

SAME_CURRENCY = """
ALTER TABLE clusters_cluster ADD CONSTRAINT clusters_cluster_tariff_of_currency
FOREIGN KEY (tariff_id, currency) REFERENCES clusters_tariff (id, currency)
"""


class Migration(migrations.Migration):
    dependencies = [("clusters", "0002_promises")]

    operations = [
        migrations.AlterField(
            model_name="tariff",
            name="price_per_kwh",
            field=models.DecimalField(decimal_places=12, max_digits=16, null=True),
        ),
        migrations.AlterField(
            model_name="tariffhour",
            name="price_per_kwh",
            field=models.DecimalField(decimal_places=12, max_digits=16),
        ),
        migrations.AddField(
            model_name="gpu", name="version", field=models.BigIntegerField(default=1)
        ),
        migrations.AddConstraint(
            model_name="tariff",
            constraint=models.UniqueConstraint(
                fields=("id", "currency"), name="tariff_of_currency"
            ),
        ),
        migrations.RunSQL(
            SAME_CURRENCY,
            "ALTER TABLE clusters_cluster DROP CONSTRAINT clusters_cluster_tariff_of_currency",
        ),
    ]
