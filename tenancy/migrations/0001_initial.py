import django.db.models.deletion
import tenancy.roles
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('token_id', models.BigIntegerField(null=True)),
                ('user_id', models.BigIntegerField(null=True)),
                ('role', models.CharField(max_length=10)),
                ('tenant_id', models.BigIntegerField(null=True)),
                ('action', models.CharField(max_length=60)),
                ('object_type', models.CharField(max_length=60)),
                ('object_id', models.BigIntegerField(null=True)),
                ('request_id', models.CharField(max_length=100)),
                ('changes', models.JSONField(default=dict)),
            ],
            options={
                'verbose_name': 'audit row',
                'indexes': [models.Index(fields=['tenant_id', 'at', 'id'], name='audit_by_tenant'), models.Index(fields=['at', 'id'], name='audit_by_time'), models.Index(fields=['object_type', 'object_id'], name='audit_by_object')],
            },
        ),
        migrations.CreateModel(
            name='AuditSeal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_id', models.BigIntegerField()),
                ('last_id', models.BigIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('previous_digest', models.CharField(max_length=64)),
                ('digest', models.CharField(max_length=64)),
                ('sealed_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'audit seal',
                'constraints': [models.UniqueConstraint(fields=('first_id',), name='audit_seal_first'), models.UniqueConstraint(fields=('last_id',), name='audit_seal_last'), models.UniqueConstraint(fields=('previous_digest',), name='audit_seal_previous'), models.UniqueConstraint(fields=('digest',), name='audit_seal_digest'), models.CheckConstraint(condition=models.Q(('count__gte', 1), ('first_id__gte', 1), ('last_id__gte', models.F('first_id'))), name='audit_seal_range'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$'), ('previous_digest__regex', '^[0-9a-f]{64}$')), name='audit_seal_hex')],
            },
        ),
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63)),
                ('display_name', models.CharField(max_length=200)),
                ('gpu_quota', models.PositiveIntegerField(blank=True, null=True)),
                ('gpus_in_use', models.PositiveIntegerField(default=0, editable=False)),
                ('weight', models.DecimalField(decimal_places=3, default=1, max_digits=9)),
                ('energy_budget_wh', models.PositiveBigIntegerField(blank=True, null=True)),
                ('max_tardiness_price_per_h', models.DecimalField(blank=True, decimal_places=6, max_digits=14, null=True)),
                ('suspended', models.BooleanField(default=False)),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('storage_quota_bytes', models.PositiveBigIntegerField(blank=True, default=107374182400, null=True)),
                ('storage_used_bytes', models.PositiveBigIntegerField(default=0, editable=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('name',), name='tenant_name_unique'), models.CheckConstraint(condition=models.Q(('gpu_quota__isnull', True), ('gpus_in_use__lte', models.F('gpu_quota')), _connector='OR'), name='tenant_within_gpu_quota'), models.CheckConstraint(condition=models.Q(('weight__gt', 0)), name='tenant_weight_positive'), models.CheckConstraint(condition=models.Q(('max_tardiness_price_per_h__isnull', True), ('max_tardiness_price_per_h__gte', 0), _connector='OR'), name='tenant_max_tardiness_price'), models.CheckConstraint(condition=models.Q(('storage_quota_bytes__isnull', True), ('storage_used_bytes__lte', models.F('storage_quota_bytes')), _connector='OR'), name='tenant_within_storage_quota')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('member', 'Member'), ('admin', 'Admin')], default='member', max_length=10)),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='tenancy.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'user'), name='membership_once_per_tenant')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(editable=False, max_length=16)),
                ('hash', models.BinaryField(max_length=32, unique=True)),
                ('role', models.CharField(choices=[('member', 'member'), ('admin', 'admin'), ('operator', 'operator'), ('node', 'node'), ('attempt', 'attempt')], max_length=10)),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('rotated_from', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='successors', to='tenancy.apitoken')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='tenancy.tenant')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('role__in', [tenancy.roles.Role['MEMBER'], tenancy.roles.Role['ADMIN']]), ('tenant__isnull', False)), models.Q(models.Q(('role__in', [tenancy.roles.Role['MEMBER'], tenancy.roles.Role['ADMIN']]), _negated=True), ('tenant__isnull', True)), _connector='OR'), name='token_tenant_iff_tenant_role')],
            },
        ),
        migrations.CreateModel(
            name='Secret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('sealed', models.TextField()),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='tenancy.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'name'), name='secret_name_taken'), models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$')), name='secret_name_is_slug')],
            },
        ),
    ]
