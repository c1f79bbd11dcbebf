"""Tenants' quotas on a GPU type."""

from clusters.api.fresh import FreshRetrieveMixin
from jobs import selectors
from jobs.api import structs
from jobs.services import quotas
from rest.filters import IntegerFilter, TextFilter
from rest.resources import NamedResource
from rest.services import Services


class GpuQuotaViewSet(FreshRetrieveMixin, NamedResource):
    """How many GPUs of one type a tenant may hold, beside its overall quota.

    Operators set them; a tenant reads its own.
    """

    resource = "gpu_quotas"
    output = structs.GpuQuotaOut
    inputs = {"create": structs.GpuQuotaCreate, "partial_update": structs.GpuQuotaPatch}
    filters = {"tenant_id": IntegerFilter(), "gpu_type": TextFilter("gpu_type__name")}
    etag_prefix = "gpu_quota"
    services = Services(
        read=selectors.gpu_quotas,
        create=quotas.gpu_quota_create,
        update=quotas.gpu_quota_update,
        delete=quotas.gpu_quota_delete,
    )
