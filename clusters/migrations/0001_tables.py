import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tariffs', '0002_promises'),
        ('tenancy', '0002_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='Cluster',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(unique=True)),
                ('policy', models.TextField(default='fifo-backfill')),
                ('policy_parameters', models.JSONField(default=dict)),
                ('shadow_policy', models.TextField(null=True)),
                ('shadow_parameters', models.JSONField(default=dict)),
                ('round_interval_s', models.IntegerField(default=30)),
                ('next_round_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('pue', models.DecimalField(decimal_places=2, default=Decimal('1'), max_digits=4)),
                ('power_budget_w', models.IntegerField(null=True)),
                ('energy_budget_wh', models.BigIntegerField(null=True)),
                ('energy_period', models.TextField(choices=[('day', 'Day'), ('month', 'Month')], null=True)),
                ('power_off', models.BooleanField(default=False)),
                ('min_idle_s', models.IntegerField(default=600)),
                ('exclusive', models.BooleanField(default=False)),
                ('network', models.BooleanField(default=True)),
                ('currency', models.TextField(default='EUR')),
                ('max_tardiness_price_per_h', models.DecimalField(decimal_places=6, default=Decimal('0.1'), max_digits=14)),
                ('brake_since_at', models.DateTimeField(null=True)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('carbon_series', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to='tariffs.carbonseries')),
                ('tariff', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, to='tariffs.tariff')),
            ],
            options={
                'indexes': [models.Index(fields=['next_round_at'], name='cluster_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='cluster_name_is_slug'), models.CheckConstraint(condition=models.Q(('round_interval_s__range', (1, 3600))), name='cluster_round_interval'), models.CheckConstraint(condition=models.Q(('pue__range', (1, 10))), name='cluster_pue'), models.CheckConstraint(condition=models.Q(('power_budget_w__isnull', True), ('power_budget_w__gt', 0), _connector='OR'), name='cluster_power_budget'), models.CheckConstraint(condition=models.Q(('energy_budget_wh__isnull', True), ('energy_budget_wh__gt', 0), _connector='OR'), name='cluster_energy_budget'), models.CheckConstraint(condition=models.Q(models.Q(('energy_budget_wh__isnull', True), ('energy_period__isnull', True)), models.Q(('energy_budget_wh__isnull', False), ('energy_period__in', ('day', 'month')), ('energy_period__isnull', False)), _connector='OR'), name='cluster_energy_period'), models.CheckConstraint(condition=models.Q(('min_idle_s__range', (0, 604800))), name='cluster_min_idle'), models.CheckConstraint(condition=models.Q(('max_tardiness_price_per_h__gte', 0)), name='cluster_max_tardiness_price'), models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='cluster_currency')],
            },
        ),
        migrations.CreateModel(
            name='GpuType',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField(unique=True)),
                ('memory_mib', models.IntegerField()),
                ('idle_w', models.IntegerField()),
                ('max_w', models.IntegerField()),
                ('clocks_mhz', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), default=list, size=None)),
                ('version', models.BigIntegerField(default=1)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('name__regex', '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$')), name='gpu_type_name'), models.CheckConstraint(condition=models.Q(('memory_mib__gt', 0)), name='gpu_type_memory'), models.CheckConstraint(condition=models.Q(('idle_w__gte', 0), ('idle_w__lte', models.F('max_w')), ('max_w__gt', 0)), name='gpu_type_watts')],
            },
        ),
        migrations.CreateModel(
            name='Partition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('lends', models.BooleanField(default=False)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='partition_name_taken'), models.UniqueConstraint(fields=('id', 'cluster'), name='partition_of_cluster'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='partition_name_is_slug')],
            },
        ),
        migrations.CreateModel(
            name='Switch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('version', models.BigIntegerField(default=1)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
            ],
            options={
                'verbose_name_plural': 'switches',
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='switch_name_taken'), models.UniqueConstraint(fields=('id', 'cluster'), name='switch_of_cluster'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='switch_name_is_slug')],
            },
        ),
        migrations.CreateModel(
            name='Rack',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('version', models.BigIntegerField(default=1)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('switch', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='clusters.switch')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='rack_name_taken'), models.UniqueConstraint(fields=('id', 'cluster'), name='rack_of_cluster'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='rack_name_is_slug')],
            },
        ),
        migrations.CreateModel(
            name='Node',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('state', models.TextField(choices=[('joining', 'Joining'), ('ready', 'Ready'), ('draining', 'Draining'), ('drained', 'Drained'), ('lost', 'Lost'), ('off', 'Off'), ('quarantined', 'Quarantined')], default='joining')),
                ('state_reason', models.TextField(default='')),
                ('gpus_in_use', models.IntegerField(default=0)),
                ('cpus', models.IntegerField()),
                ('cpus_used', models.IntegerField(default=0)),
                ('memory_mib', models.BigIntegerField()),
                ('memory_used_mib', models.BigIntegerField(default=0)),
                ('host_idle_w', models.IntegerField(default=0)),
                ('host_peak_w', models.IntegerField(default=0)),
                ('install_id', models.TextField(default='')),
                ('epoch', models.BigIntegerField(default=0)),
                ('boot_id', models.TextField(default='')),
                ('address', models.TextField(default='')),
                ('agent_version', models.TextField(default='')),
                ('driver', models.TextField(default='')),
                ('features', models.JSONField(default=dict)),
                ('container_tool', models.TextField(blank=True, choices=[('podman', 'Podman'), ('docker', 'Docker'), ('apptainer', 'Apptainer'), ('enroot', 'Enroot')], default='')),
                ('wall', models.TextField(choices=[('none', 'None'), ('uid', 'Uid'), ('namespaces', 'Namespaces')], default='none')),
                ('workloads', models.BooleanField(default=False)),
                ('git', models.BooleanField(default=False)),
                ('power_commanded', models.TextField(default='')),
                ('power_told', models.TextField(default='')),
                ('power_said', models.TextField(default='')),
                ('idle_since_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_sync_at', models.DateTimeField(null=True)),
                ('sync_sequence', models.BigIntegerField(default=0)),
                ('losses', models.IntegerField(default=0)),
                ('losses_since', models.DateTimeField(null=True)),
                ('samples_refused', models.BigIntegerField(default=0)),
                ('samples_shed', models.BigIntegerField(default=0)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='clusters.cluster')),
                ('gpu_type', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='clusters.gputype')),
                ('token', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, to='tenancy.apitoken')),
                ('partition', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='clusters.partition')),
                ('rack', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='clusters.rack')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'id'], name='node_by_cluster')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='node_name_taken'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$')), name='node_name_is_host'), models.CheckConstraint(condition=models.Q(('state__in', ('joining', 'ready', 'draining', 'drained', 'lost', 'off', 'quarantined'))), name='node_state'), models.CheckConstraint(condition=models.Q(('container_tool__in', ('', 'podman', 'docker', 'apptainer', 'enroot'))), name='node_container_tool'), models.CheckConstraint(condition=models.Q(('wall__in', ('none', 'uid', 'namespaces'))), name='node_wall'), models.CheckConstraint(condition=models.Q(('gpus_in_use__gte', 0)), name='node_gpus_in_use'), models.CheckConstraint(condition=models.Q(('cpus__gt', 0), ('cpus_used__gte', 0), ('cpus_used__lte', models.F('cpus'))), name='node_cpus_within'), models.CheckConstraint(condition=models.Q(('memory_mib__gt', 0), ('memory_used_mib__gte', 0), ('memory_used_mib__lte', models.F('memory_mib'))), name='node_memory_within'), models.CheckConstraint(condition=models.Q(('host_idle_w__gte', 0), ('host_idle_w__lte', models.F('host_peak_w'))), name='node_host_watts')],
            },
        ),
        migrations.CreateModel(
            name='Gpu',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.SmallIntegerField()),
                ('uuid', models.TextField(unique=True)),
                ('healthy', models.BooleanField(default=True)),
                ('health_reason', models.TextField(default='')),
                ('fault', models.TextField(default='')),
                ('remark', models.TextField(default='')),
                ('version', models.BigIntegerField(default=1)),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.node')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('node', 'index'), name='gpu_index_taken'), models.CheckConstraint(condition=models.Q(('index__range', (0, 63))), name='gpu_index_range')],
            },
        ),
        migrations.CreateModel(
            name='JoinToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.TextField()),
                ('hash', models.BinaryField(max_length=32, unique=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
                ('used_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='clusters.node')),
                ('partition', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.partition')),
                ('rack', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='clusters.rack')),
            ],
        ),
        migrations.CreateModel(
            name='Volume',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('path', models.TextField()),
                ('read_only', models.BooleanField(default=True)),
                ('everyone', models.BooleanField(default=False)),
                ('version', models.BigIntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'name'), name='volume_name_taken'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='volume_name_is_slug'), models.CheckConstraint(condition=models.Q(('path__regex', '^(/[A-Za-z0-9._@+-]+)+$'), models.Q(('path__regex', '/\\.{1,2}(/|$)'), _negated=True)), name='volume_path')],
            },
        ),
        migrations.CreateModel(
            name='VolumeGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
                ('volume', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='clusters.volume')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('volume', 'tenant'), name='volume_grant_once')],
            },
        ),
        migrations.CreateModel(
            name='Watch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('watched_at', models.DateTimeField()),
                ('resumed_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'watches',
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='watch_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='WatchPause',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['ended_at'], name='watch_pause_ended')],
                'constraints': [models.CheckConstraint(condition=models.Q(('ended_at__gt', models.F('began_at'))), name='watch_pause_ends')],
            },
        ),
    ]
