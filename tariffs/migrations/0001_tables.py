import django.db.models.deletion
import django.db.models.functions.datetime
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='CarbonSeries',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(unique=True)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'verbose_name_plural': 'carbon series',
                'constraints': [models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='carbon_name_is_slug')],
            },
        ),
        migrations.CreateModel(
            name='Tariff',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(unique=True)),
                ('kind', models.TextField(choices=[('flat', 'Flat'), ('time_of_use', 'Time Of Use'), ('hourly', 'Hourly')])),
                ('currency', models.TextField(default='EUR')),
                ('price_per_kwh', models.DecimalField(decimal_places=12, max_digits=16, null=True)),
                ('timezone', models.TextField(default='UTC')),
                ('periods', models.JSONField(default=list)),
                ('demand_charge_per_kw', models.DecimalField(decimal_places=6, default=Decimal('0'), max_digits=12)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('id', 'currency'), name='tariff_of_currency'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='tariff_name_is_slug'), models.CheckConstraint(condition=models.Q(('kind__in', ('flat', 'time_of_use', 'hourly'))), name='tariff_kind'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'flat'), ('price_per_kwh__isnull', False)), models.Q(models.Q(('kind', 'flat'), _negated=True), ('price_per_kwh__isnull', True)), _connector='OR'), name='tariff_flat_has_price'), models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='tariff_currency'), models.CheckConstraint(condition=models.Q(('demand_charge_per_kw__gte', 0)), name='tariff_demand_charge')],
            },
        ),
        migrations.CreateModel(
            name='CarbonHour',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('g_per_kwh', models.DecimalField(decimal_places=3, max_digits=9)),
                ('series', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='tariffs.carbonseries')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('series', 'starts_at'), name='carbon_hour_once'), models.CheckConstraint(condition=models.Q(('g_per_kwh__gte', 0)), name='carbon_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='TariffHour',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('price_per_kwh', models.DecimalField(decimal_places=12, max_digits=16)),
                ('tariff', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='tariffs.tariff')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tariff', 'starts_at'), name='tariff_hour_once')],
            },
        ),
    ]
