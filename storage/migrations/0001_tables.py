import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tenancy', '0002_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='Blob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.TextField()),
                ('size', models.BigIntegerField()),
                ('format', models.TextField(default='')),
                ('created_at', models.DateTimeField()),
                ('used_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', '-id'], name='blob_by_tenant'), models.Index(fields=['used_at'], name='blob_by_use')],
                'constraints': [models.UniqueConstraint(fields=('id', 'tenant'), name='blob_of_tenant'), models.UniqueConstraint(fields=('tenant', 'digest'), name='blob_once'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='blob_digest'), models.CheckConstraint(condition=models.Q(('format__in', ('', 'tar.gz', 'zip'))), name='blob_format'), models.CheckConstraint(condition=models.Q(('size__gte', 0)), name='blob_size')],
            },
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.TextField()),
                ('size', models.BigIntegerField()),
                ('format', models.TextField(default='')),
                ('received', models.BigIntegerField(default=0)),
                ('parts', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='tenancy.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['tenant', '-id'], name='upload_by_tenant'), models.Index(fields=['expires_at'], name='upload_by_expiry')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'digest'), name='upload_once'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='upload_digest'), models.CheckConstraint(condition=models.Q(('format__in', ('', 'tar.gz', 'zip'))), name='upload_format'), models.CheckConstraint(condition=models.Q(('received__gte', 0), ('received__lte', models.F('size'))), name='upload_received')],
            },
        ),
    ]
