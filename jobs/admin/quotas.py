"""Quotas of tenants in the admin."""

from typing import Any

from django.contrib import admin

from jobs.models import GpuQuota
from jobs.services.quotas import GPU_QUOTAS
from rest.admin import ServiceForm
from tenancy.staff import StaffAdmin


class GpuQuotaForm(ServiceForm):
    def values(self) -> dict[str, Any]:
        given = super().values()
        if "tenant" in given:
            del given["tenant"]
            given["tenant_id"] = self.cleaned_data["tenant"].pk
        return given


@admin.register(GpuQuota)
class GpuQuotaAdmin(StaffAdmin):
    services = GPU_QUOTAS
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
