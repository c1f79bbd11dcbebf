import django.db.models.deletion
import django.db.models.functions.datetime
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
            name='Forecast',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.TextField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued')),
                ('policy', models.TextField()),
                ('parameters', models.JSONField(default=dict)),
                ('made_at', models.DateTimeField(null=True)),
                ('snapshot_digest', models.TextField(default='')),
                ('error', models.TextField(default='')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', '-id'], name='forecast_by_cluster')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running'))), fields=('cluster',), name='one_live_forecast_per_cluster'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ('succeeded', 'failed', 'cancelled'))), models.Q(('ended_at__isnull', True), ('state__in', ('queued', 'running'))), _connector='OR'), name='forecast_ended_when_over')],
            },
        ),
        migrations.CreateModel(
            name='ForecastJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start_at', models.DateTimeField(null=True)),
                ('start_low_at', models.DateTimeField(null=True)),
                ('start_high_at', models.DateTimeField(null=True)),
                ('finish_at', models.DateTimeField(null=True)),
                ('finish_low_at', models.DateTimeField(null=True)),
                ('finish_high_at', models.DateTimeField(null=True)),
                ('full_energy_j', models.FloatField(null=True)),
                ('full_cost', models.DecimalField(decimal_places=6, max_digits=18, null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('error_s', models.FloatField(null=True)),
                ('within', models.BooleanField(null=True)),
                ('forecast', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='forecast_jobs', to='whatif.forecast')),
                ('job', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='jobs.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('error_s__isnull', True), ('start_at__isnull', False)), fields=['job'], name='forecast_job_unscored')],
                'constraints': [models.UniqueConstraint(fields=('forecast', 'job'), name='forecast_job_once')],
            },
        ),
        migrations.CreateModel(
            name='Simulation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(default='')),
                ('kind', models.TextField(choices=[('trace', 'Trace'), ('live', 'Live')])),
                ('request', models.JSONField()),
                ('state', models.TextField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued')),
                ('snapshot', models.BinaryField(null=True)),
                ('results', models.JSONField(null=True)),
                ('report', models.BinaryField(null=True)),
                ('error', models.TextField(default='')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('requested_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tenancy.apitoken')),
                ('tenant', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', '-id'], name='simulation_by_tenant'), models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['tenant'], name='simulation_live')],
                'constraints': [models.UniqueConstraint(fields=('id', 'tenant'), name='simulation_of_tenant'), models.CheckConstraint(condition=models.Q(('kind__in', ('trace', 'live'))), name='simulation_kind'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ('succeeded', 'failed', 'cancelled'))), models.Q(('ended_at__isnull', True), ('state__in', ('queued', 'running'))), _connector='OR'), name='simulation_ended_when_over')],
            },
        ),
        migrations.CreateModel(
            name='SimulationRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('policy', models.TextField()),
                ('label', models.TextField()),
                ('parameters', models.JSONField(default=dict)),
                ('seed', models.BigIntegerField()),
                ('state', models.TextField(choices=[('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued')),
                ('fence', models.IntegerField(default=0)),
                ('simulated_s', models.FloatField(default=0)),
                ('jobs_done', models.IntegerField(default=0)),
                ('jobs_total', models.IntegerField(null=True)),
                ('metrics', models.JSONField(null=True)),
                ('series', models.BinaryField(null=True)),
                ('error', models.TextField(default='')),
                ('started_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('simulation', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='whatif.simulation')),
                ('tenant', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['id'], name='run_live')],
                'constraints': [models.UniqueConstraint(fields=('simulation', 'number'), name='run_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ('succeeded', 'failed', 'cancelled'))), models.Q(('ended_at__isnull', True), ('state__in', ('queued', 'running'))), _connector='OR'), name='run_ended_when_over')],
            },
        ),
    ]
