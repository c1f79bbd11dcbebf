"""Django's registration, and what this app's constraints mean to a caller."""

from django.apps import AppConfig

from rest.constraints import explain


class TenancyConfig(AppConfig):
    name = "tenancy"

    def ready(self) -> None:
        explain(
            "tenant_name_unique",
            code="name_taken",
            pointer="/name",
            detail="Another tenant has this name; choose another.",
        )
        explain(
            "tenant_within_gpu_quota",
            code="quota_below_use",
            pointer="/gpu_quota",
            detail="The quota may not be below the GPUs in use; wait or cancel jobs first.",
        )
        explain(
            "membership_once_per_tenant",
            code="already_member",
            pointer="/username",
            detail="This user already belongs to the tenant; change the membership instead.",
        )
