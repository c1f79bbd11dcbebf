"""Tenants' quotas on a GPU type."""

from jobs.api import structs
from jobs.services.quotas import GPU_QUOTAS
from rest.filters import IntegerFilter, TextFilter
from rest.resources import NamedResource


class GpuQuotaViewSet(NamedResource):
    """How many GPUs of one type a tenant may hold, beside its overall quota.

    Operators set them; a tenant reads its own.
    """

    resource = "gpu_quotas"
    output = structs.GpuQuotaOut
    inputs = {"create": structs.GpuQuotaCreate, "partial_update": structs.GpuQuotaPatch}
    filters = {"tenant_id": IntegerFilter(), "gpu_type": TextFilter("gpu_type__name")}
    etag_prefix = "gpu_quota"
    services = GPU_QUOTAS
    moves_without_version = True
