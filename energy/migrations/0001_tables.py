import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('clusters', '0002_promises'),
        ('jobs', '0002_promises'),
        ('tenancy', '0002_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='SampleInbox',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('node_id', models.BigIntegerField()),
                ('gpu_id', models.BigIntegerField()),
                ('boot_id', models.BigIntegerField()),
                ('sequence', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('boot_ms', models.BigIntegerField()),
                ('energy_mj', models.BigIntegerField()),
                ('power_mw', models.IntegerField()),
                ('attempt_id', models.BigIntegerField(null=True)),
                ('integrated', models.BooleanField()),
                ('utilisation_pct', models.SmallIntegerField(null=True)),
                ('memory_used_mib', models.IntegerField(null=True)),
                ('temperature_c', models.SmallIntegerField(null=True)),
                ('clock_mhz', models.IntegerField(null=True)),
            ],
            options={
                'verbose_name_plural': 'sample inbox',
            },
        ),
        migrations.CreateModel(
            name='Boot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('boot_id', models.TextField()),
                ('first_seen_at', models.DateTimeField()),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.node')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('node', 'boot_id'), name='boot_once_per_node')],
            },
        ),
        migrations.CreateModel(
            name='GpuCounter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_mj', models.BigIntegerField()),
                ('last_mj', models.BigIntegerField()),
                ('last_ms', models.BigIntegerField()),
                ('last_sequence', models.BigIntegerField()),
                ('last_at', models.DateTimeField()),
                ('kept_from', models.BigIntegerField(default=-1)),
                ('gap_mj', models.BigIntegerField(default=0)),
                ('boot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='energy.boot')),
                ('gpu', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='clusters.gpu')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('gpu', 'boot'), name='counter_once')],
            },
        ),
        migrations.CreateModel(
            name='LedgerRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('gpu_mj', models.BigIntegerField()),
                ('host_mj', models.BigIntegerField()),
                ('method', models.TextField(choices=[('counter', 'Counter'), ('integrated', 'Integrated')])),
                ('pue', models.DecimalField(decimal_places=2, max_digits=4)),
                ('price_per_kwh', models.DecimalField(decimal_places=12, max_digits=16, null=True)),
                ('g_per_kwh', models.DecimalField(decimal_places=3, max_digits=9, null=True)),
                ('currency', models.TextField()),
                ('cost', models.DecimalField(decimal_places=12, default=Decimal('0'), max_digits=28)),
                ('carbon_g', models.DecimalField(decimal_places=12, default=Decimal('0'), max_digits=28)),
                ('coverage', models.FloatField()),
                ('written_at', models.DateTimeField()),
                ('attempt', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, to='jobs.attempt')),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='clusters.cluster')),
                ('gpu', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='clusters.gpu')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', 'starts_at'], name='ledger_by_tenant'), models.Index(fields=['cluster', 'starts_at'], name='ledger_by_cluster'), models.Index(fields=['attempt', 'gpu'], name='ledger_by_attempt'), models.Index(fields=['gpu'], name='ledger_by_gpu')],
                'constraints': [models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='ledger_window'), models.CheckConstraint(condition=models.Q(('coverage__range', (0, 1))), name='ledger_coverage'), models.CheckConstraint(condition=models.Q(('method__in', ('counter', 'integrated'))), name='ledger_method')],
            },
        ),
        migrations.CreateModel(
            name='Meter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start_mj', models.BigIntegerField()),
                ('now_mj', models.BigIntegerField()),
                ('integrated', models.BooleanField(default=False)),
                ('final', models.BooleanField(default=False)),
                ('since_at', models.DateTimeField()),
                ('until_at', models.DateTimeField()),
                ('settled_at', models.DateTimeField(null=True)),
                ('settled_mj', models.BigIntegerField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('attempt', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, to='jobs.attempt')),
                ('boot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='energy.boot')),
                ('gpu', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='clusters.gpu')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['gpu', 'boot'], name='meter_by_gpu'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='meter_due')],
                'constraints': [models.UniqueConstraint(fields=('attempt', 'gpu'), name='meter_once_per_gpu'), models.CheckConstraint(condition=models.Q(('now_mj__gte', models.F('start_mj')), ('start_mj__gte', 0)), name='meter_rises'), models.CheckConstraint(condition=models.Q(('until_at__gte', models.F('since_at'))), name='meter_ends_after_start')],
            },
        ),
        migrations.CreateModel(
            name='PowerBreach',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('budget_w', models.FloatField()),
                ('worst_w', models.FloatField()),
                ('began_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('partition', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.partition')),
            ],
            options={
                'verbose_name_plural': 'power breaches',
                'indexes': [models.Index(fields=['cluster', '-id'], name='power_breach_by_cluster')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('cluster', 'partition'), name='one_open_breach', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('worst_w__gt', models.F('budget_w'))), name='power_breach_is_above')],
            },
        ),
        migrations.CreateModel(
            name='PowerBudget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('watts', models.IntegerField()),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(null=True)),
                ('from_minute', models.SmallIntegerField(null=True)),
                ('to_minute', models.SmallIntegerField(null=True)),
                ('timezone', models.TextField(default='UTC')),
                ('reason', models.TextField(default='')),
                ('ordered_by', models.TextField(default='')),
                ('estimate', models.JSONField(null=True)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('partition', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.partition')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', '-id'], name='power_budget_by_cluster')],
                'constraints': [models.CheckConstraint(condition=models.Q(('watts__gt', 0)), name='power_budget_watts'), models.CheckConstraint(condition=models.Q(('ends_at__isnull', True), ('ends_at__gt', models.F('starts_at')), _connector='OR'), name='power_budget_window'), models.CheckConstraint(condition=models.Q(models.Q(('from_minute__isnull', True), ('to_minute__isnull', True)), models.Q(('from_minute__isnull', False), ('from_minute__range', (0, 1439)), ('to_minute__isnull', False), ('to_minute__range', (0, 1439)), models.Q(('from_minute', models.F('to_minute')), _negated=True)), _connector='OR'), name='power_budget_daily')],
            },
        ),
        migrations.CreateModel(
            name='PowerState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('budget_w', models.FloatField(null=True)),
                ('planned_w', models.FloatField(null=True)),
                ('measured_w', models.FloatField(null=True)),
                ('measured_at', models.DateTimeField(null=True)),
                ('unread_gpus', models.IntegerField(default=0)),
                ('correction_w', models.FloatField(default=0)),
                ('corrected_at', models.DateTimeField(null=True)),
                ('energy_from_at', models.DateTimeField(null=True)),
                ('energy_counted_at', models.DateTimeField(null=True)),
                ('energy_drawn_j', models.FloatField(default=0)),
                ('demand_month', models.TextField(default='')),
                ('demand_counted_at', models.DateTimeField(null=True)),
                ('demand_peaks_w', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('partition', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.partition')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'partition'), name='power_state_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('correction_w__gte', 0)), name='power_correction_lowers'), models.CheckConstraint(condition=models.Q(models.Q(('energy_counted_at__isnull', True), ('energy_from_at__isnull', True)), models.Q(('energy_counted_at__gte', models.F('energy_from_at')), ('energy_counted_at__isnull', False), ('energy_from_at__isnull', False)), _connector='OR'), name='power_energy_counted'), models.CheckConstraint(condition=models.Q(('energy_drawn_j__gte', 0)), name='power_energy_drawn')],
            },
        ),
        migrations.CreateModel(
            name='Sample',
            fields=[
                ('pk', models.CompositePrimaryKey('gpu_id', 'boot_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
                ('gpu_id', models.BigIntegerField()),
                ('boot_id', models.BigIntegerField()),
                ('sequence', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('boot_ms', models.BigIntegerField()),
                ('energy_mj', models.BigIntegerField()),
                ('power_mw', models.IntegerField()),
                ('attempt_id', models.BigIntegerField(null=True)),
                ('integrated', models.BooleanField()),
                ('utilisation_pct', models.SmallIntegerField(null=True)),
                ('memory_used_mib', models.IntegerField(null=True)),
                ('temperature_c', models.SmallIntegerField(null=True)),
                ('clock_mhz', models.IntegerField(null=True)),
            ],
            options={
                'indexes': [django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='sample_by_time', pages_per_range=32)],
            },
        ),
        migrations.CreateModel(
            name='SampleMinute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('minute_at', models.DateTimeField()),
                ('samples', models.IntegerField()),
                ('first_mj', models.BigIntegerField()),
                ('last_mj', models.BigIntegerField()),
                ('mean_mw', models.IntegerField()),
                ('max_mw', models.IntegerField()),
                ('utilisation_pct', models.SmallIntegerField(null=True)),
                ('memory_used_mib', models.IntegerField(null=True)),
                ('temperature_c', models.SmallIntegerField(null=True)),
                ('clock_mhz', models.IntegerField(null=True)),
                ('boot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='energy.boot')),
                ('gpu', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='clusters.gpu')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('gpu', 'minute_at', 'boot'), name='minute_once')],
            },
        ),
    ]
