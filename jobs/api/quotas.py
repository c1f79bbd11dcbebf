"""Tenants' quotas on a GPU type."""

from typing import Any

from django.db.models import QuerySet

from clusters.api.fresh import FreshRetrieveMixin
from jobs import selectors
from jobs.api import examples, filters
from jobs.api import quota_serializers as serializers
from jobs.models import GpuQuota
from jobs.services import quotas as services
from rest.views import (
    CreateMixin,
    DestroyMixin,
    ListMixin,
    UpdateMixin,
    crud_rights,
)


class GpuQuotaViewSet(ListMixin, FreshRetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """How many GPUs of one type a tenant may hold, beside its overall quota.

    Operators set them; a tenant reads its own.
    """

    resource = "gpu_quotas"
    rights = crud_rights("gpu_quotas")
    output = serializers.GpuQuotaOut
    inputs = {"create": serializers.GpuQuotaCreate, "partial_update": serializers.GpuQuotaPatch}
    examples = examples.GPU_QUOTAS
    filterset_class = filters.GpuQuotaFilters
    etag_prefix = "gpu_quota"

    def rows(self) -> QuerySet[GpuQuota]:
        return selectors.gpu_quotas(self.caller)

    def perform_create(self, values: dict[str, Any]) -> GpuQuota:
        return services.gpu_quota_create(caller=self.caller, **values)

    def perform_update(self, row: GpuQuota, changes: dict[str, Any]) -> GpuQuota:
        return services.gpu_quota_update(caller=self.caller, quota=row, **changes)

    def perform_destroy(self, row: GpuQuota) -> None:
        services.gpu_quota_delete(caller=self.caller, quota=row)
