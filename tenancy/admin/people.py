"""Tenants, people, tokens and secrets in the admin."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from rest.admin import ReadOnlyAdmin
from rest.services import Values
from tenancy import services, tokens
from tenancy.callers import Caller
from tenancy.models import ApiToken, Membership, Secret, Tenant
from tenancy.roles import Role
from tenancy.staff import StaffActs, StaffAdmin, caller_of

OVERLAP = timedelta(hours=1)


@admin.register(Tenant)
class TenantAdmin(StaffAdmin):
    services = services.TENANTS
    list_display = ("name", "display_name", "in_use", "weight", "energy_budget_wh", "suspended")
    list_filter = ("suspended",)
    search_fields = ("name", "display_name")
    readonly_fields = ("gpus_in_use", "storage_used_bytes", "version", "created_at", "updated_at")
    ordering = ("name",)
    actions = ("suspend", "resume")

    @admin.display(description="GPUs in use")
    def in_use(self, tenant: Tenant) -> str:
        quota = "∞" if tenant.gpu_quota is None else tenant.gpu_quota
        return f"{tenant.gpus_in_use} / {quota}"

    @admin.action(description="Suspend: read, but change nothing", permissions=["act"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_suspended(request, queryset, suspended=True)

    @admin.action(description="Resume", permissions=["act"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_suspended(request, queryset, suspended=False)

    def _set_suspended(
        self, request: HttpRequest, queryset: QuerySet[Tenant], *, suspended: bool
    ) -> None:
        caller, now, changes = caller_of(request), timezone.now(), {"suspended": suspended}
        self.for_each(
            request,
            queryset.exclude(suspended=suspended),
            "Suspended" if suspended else "Resumed",
            lambda tenant: services.tenant_update(caller, tenant, changes, now),
        )


@admin.register(Membership)
class MembershipAdmin(StaffAdmin):
    list_display = ("user", "tenant", "role", "created_at")
    list_filter = ("role", "tenant")
    search_fields = ("user__username", "tenant__name")
    autocomplete_fields = ("tenant",)
    list_select_related = ("user", "tenant")
    fixed_fields = ("user", "tenant")
    references_by_id = ("user", "tenant")

    def perform_create(self, caller: Caller, values: Values) -> Membership:
        return services.membership_create(
            caller,
            tenant_id=values["tenant_id"],
            username=get_user_model().objects.get(pk=values["user_id"]).get_username(),
            role=values["role"],
        )

    def perform_update(self, caller: Caller, row: Membership, changes: Values) -> Membership:
        return services.membership_update(caller, row, role=changes["role"])

    def perform_delete(self, caller: Caller, row: Membership) -> None:
        services.membership_delete(caller, row)


@admin.register(ApiToken)
class ApiTokenAdmin(StaffAdmin):
    """Tokens are made here once and shown once; afterwards they can only end."""

    list_display = ("prefix", "name", "role", "tenant", "state", "expires_at", "last_used_at")
    list_filter = ("role", "tenant")
    search_fields = ("prefix", "name", "tenant__name")
    list_select_related = ("tenant",)
    fields = ("name", "role", "tenant", "user", "expires_at")
    autocomplete_fields = ("tenant",)
    references_by_id = ("tenant", "user")
    actions = ("rotate", "revoke")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="state")
    def state(self, token: ApiToken) -> str:
        if token.revoked_at:
            return "revoked"
        return "expired" if token.expires_at and token.expires_at <= timezone.now() else "live"

    def perform_create(self, caller: Caller, values: Values) -> tokens.NewToken:
        return tokens.token_create(caller, **{**values, "role": Role(values["role"])})

    def written(self, request: HttpRequest, made: tokens.NewToken) -> None:
        text = f"Copy the secret of {made.token.name!r} now, it is not kept: {made.secret}"
        self.message_user(request, text, messages.WARNING)

    @admin.action(
        description="Rotate: a successor now, the old one ends in an hour", permissions=["act"]
    )
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        caller, now, overlap_s = caller_of(request), timezone.now(), int(OVERLAP.total_seconds())

        def write(token: ApiToken) -> None:
            successor = tokens.token_rotate(caller, token, overlap_s=overlap_s, now=now)
            self.written(request, successor)

        self.for_each(request, queryset, "Rotated", write)

    @admin.action(description="Revoke at once", permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request, queryset, "Revoked", lambda token: tokens.token_revoke(caller, token, now)
        )


@admin.register(Secret)
class SecretAdmin(StaffActs, ReadOnlyAdmin):
    """Which there are; their values are the tenants' own."""

    list_display = ("name", "tenant", "version", "created_at", "updated_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("name", "tenant__name")
    exclude = ("sealed",)
