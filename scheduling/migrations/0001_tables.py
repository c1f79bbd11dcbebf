import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.math
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
            name='Round',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('policy', models.TextField()),
                ('parameters', models.JSONField(default=dict)),
                ('seed', models.BigIntegerField()),
                ('status', models.TextField(choices=[('done', 'Done'), ('failed', 'Failed')])),
                ('error', models.TextField(default='')),
                ('started_at', models.DateTimeField()),
                ('load_ms', models.FloatField()),
                ('plan_ms', models.FloatField(default=0)),
                ('check_ms', models.FloatField(default=0)),
                ('apply_ms', models.FloatField(default=0)),
                ('queued', models.IntegerField(default=0)),
                ('running', models.IntegerField(default=0)),
                ('started', models.IntegerField(default=0)),
                ('preempted', models.IntegerField(default=0)),
                ('moved', models.IntegerField(default=0)),
                ('resized', models.IntegerField(default=0)),
                ('switched', models.IntegerField(default=0)),
                ('waiting', models.IntegerField(default=0)),
                ('stale', models.IntegerField(default=0)),
                ('objective', models.FloatField(null=True)),
                ('bound', models.FloatField(null=True)),
                ('gap', models.FloatField(null=True)),
                ('shown', models.JSONField(default=dict)),
                ('snapshot', models.BinaryField(null=True)),
                ('snapshot_digest', models.TextField()),
                ('plan', models.BinaryField(null=True)),
                ('plan_digest', models.TextField(default='')),
                ('shadow_policy', models.TextField(null=True)),
                ('shadow_parameters', models.JSONField(default=dict)),
                ('shadow_ms', models.FloatField(null=True)),
                ('shadow_difference', models.JSONField(null=True)),
                ('cluster', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='clusters.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', '-id'], name='round_by_cluster'), models.Index(condition=models.Q(('bound__isnull', False)), fields=['cluster', '-id'], name='round_bounded')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ('done', 'failed'))), name='round_status'), models.CheckConstraint(condition=models.Q(models.Q(('bound__isnull', True), ('gap__isnull', True)), models.Q(('bound__isnull', False), ('gap__gte', 0), ('gap__isnull', False), ('objective__isnull', False)), _connector='OR'), name='round_gap'), models.CheckConstraint(condition=models.Q(('bound__lte', django.db.models.expressions.CombinedExpression(models.F('objective'), '+', django.db.models.expressions.CombinedExpression(models.Value(1e-06), '*', django.db.models.functions.math.Abs(models.F('objective')))))), name='round_bound')],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.TextField()),
                ('reason', models.TextField()),
                ('evidence', models.JSONField(default=dict)),
                ('applied', models.BooleanField(default=True)),
                ('job', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='jobs.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='scheduling.round')),
            ],
            options={
                'indexes': [models.Index(fields=['job', '-id'], name='decision_by_job')],
            },
        ),
    ]
