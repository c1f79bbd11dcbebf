import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tenancy', '0002_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.TextField()),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('sealed_secret', models.TextField(editable=False)),
                ('sealed_old_secret', models.TextField(default='', editable=False)),
                ('old_secret_until', models.DateTimeField(editable=False, null=True)),
                ('enabled', models.BooleanField(default=True)),
                ('disabled_reason', models.TextField(default='', editable=False)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('failures', models.IntegerField(default=0, editable=False)),
                ('retry_at', models.DateTimeField(editable=False, null=True)),
                ('version', models.BigIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('id', 'tenant'), name='webhook_of_tenant'), models.UniqueConstraint(fields=('tenant', 'url'), name='webhook_url_taken'), models.CheckConstraint(condition=models.Q(('url__regex', '^https?://[^\\s/?#@]+(/[^\\s#]*|\\?[^\\s#]*)?$')), name='webhook_url'), models.CheckConstraint(condition=models.Q(('events__contained_by', ['job.queued', 'job.placed', 'job.running', 'job.preempting', 'job.succeeded', 'job.failed', 'job.cancelled'])), name='webhook_events')],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.BigIntegerField()),
                ('event', models.TextField()),
                ('state', models.TextField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('failed', 'Failed')], db_default='pending', default='pending')),
                ('tries', models.IntegerField(db_default=0, default=0)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('claimed_until', models.DateTimeField(null=True)),
                ('status', models.IntegerField(null=True)),
                ('error', models.TextField(db_default='', default='')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='tenancy.tenant')),
                ('webhook', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='webhooks.webhook')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'indexes': [models.Index(fields=['tenant', '-id'], name='delivery_by_tenant'), models.Index(condition=models.Q(('state', 'pending')), fields=['webhook', 'due_at'], name='delivery_due'), models.Index(fields=['ended_at'], name='delivery_by_end')],
                'constraints': [models.UniqueConstraint(fields=('webhook', 'event_id'), name='delivery_once'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state', 'pending')), models.Q(('ended_at__isnull', False), ('state__in', ('delivered', 'failed'))), _connector='OR'), name='delivery_state')],
            },
        ),
    ]
