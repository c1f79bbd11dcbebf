"""Shapes of tenants' quotas on a GPU type."""

from clusters.api.fields import GpuTypeName
from rest import fields
from rest.serializers import StrictSerializer


class GpuQuotaOut(StrictSerializer):
    """`gpus_in_use` moves without a new version."""

    id = fields.Integer()
    tenant_id = fields.Integer()
    gpu_type = fields.Text(source="gpu_type.name")
    gpus = fields.Integer()
    gpus_in_use = fields.Integer()
    version = fields.Integer()


class GpuQuotaCreate(StrictSerializer):
    tenant_id = fields.Integer(min_value=1)
    gpu_type = GpuTypeName()
    gpus = fields.Integer(min_value=0, max_value=1_000_000)


class GpuQuotaPatch(StrictSerializer):
    gpus = fields.Integer(min_value=0, max_value=1_000_000)
