"""Quotas of tenants in the admin."""

from typing import Any

from django.contrib import admin
from django.utils import timezone

from clusters.admin.base import ServiceAdmin, Values
from clusters.admin.forms import ServiceForm
from jobs.models import GpuQuota
from jobs.services import quotas as services
from tenancy.callers import Caller


class GpuQuotaForm(ServiceForm):
    def values(self) -> dict[str, Any]:
        given = super().values()
        if "tenant" in given:
            del given["tenant"]
            given["tenant_id"] = self.cleaned_data["tenant"].pk
        return given


@admin.register(GpuQuota)
class GpuQuotaAdmin(ServiceAdmin):
    form = GpuQuotaForm
    list_display = ("tenant", "gpu_type", "in_use")
    list_filter = ("gpu_type",)
    list_select_related = ("tenant", "gpu_type")
    search_fields = ("tenant__name", "gpu_type__name")
    ordering = ("tenant", "gpu_type")
    fields = ("tenant", "gpu_type", "gpus")
    autocomplete_fields = ("tenant",)
    fixed_fields = ("tenant", "gpu_type")

    @admin.display(description="GPUs in use")
    def in_use(self, quota: GpuQuota) -> str:
        return f"{quota.gpus_in_use} / {quota.gpus}"

    def perform_create(self, caller: Caller, values: Values) -> GpuQuota:
        return services.gpu_quota_create(caller, values)

    def perform_update(self, caller: Caller, row: GpuQuota, changes: Values) -> GpuQuota:
        return services.gpu_quota_update(caller, row, changes, timezone.now())

    def perform_delete(self, caller: Caller, row: GpuQuota) -> None:
        services.gpu_quota_delete(caller, row)
