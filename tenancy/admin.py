"""Tenancy for operators: tenants, people, tokens, and the audit to read."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from unfold.admin import ModelAdmin

from rest.problems import Problem
from tenancy import audit, services, tokens
from tenancy.callers import Caller, staff
from tenancy.models import ApiToken, AuditRow, Membership, Tenant
from tenancy.roles import Role

OVERLAP = timedelta(hours=1)


def caller_of(request: HttpRequest) -> Caller:
    return staff(request.user.pk)


class AuditedAdmin(ModelAdmin):  # type: ignore[misc]
    """Whatever a person changes in a form is audited like what a token changes."""

    def save_model(
        self, request: HttpRequest, obj: Any, form: "ModelForm[Any]", change: bool
    ) -> None:
        if change and hasattr(obj, "version"):
            obj.version += 1
        super().save_model(request, obj, form, change)
        verb = "update" if change else "create"
        changes = {name: form.cleaned_data.get(name) for name in form.changed_data}
        self._record(request, verb, obj, changes)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._record(request, "delete", obj, {"name": str(obj)})
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for obj in queryset:
            self._record(request, "delete", obj, {"name": str(obj)})
        super().delete_queryset(request, queryset)

    def _record(self, request: HttpRequest, verb: str, obj: Model, changes: dict[str, Any]) -> None:
        shown = {name: str(value) for name, value in changes.items()}
        action = f"{obj._meta.model_name}.{verb}"
        owner = obj.pk if isinstance(obj, Tenant) else getattr(obj, "tenant_id", None)
        audit.record(caller_of(request), action, obj, shown, tenant_id=owner)


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """History: looked at, never touched."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Tenant)
class TenantAdmin(AuditedAdmin):
    list_display = ("name", "display_name", "in_use", "weight", "energy_budget_wh", "suspended")
    list_filter = ("suspended",)
    search_fields = ("name", "display_name")
    readonly_fields = ("gpus_in_use", "version", "created_at", "updated_at")
    ordering = ("name",)
    actions = ("suspend", "resume")

    @admin.display(description="GPUs in use")
    def in_use(self, tenant: Tenant) -> str:
        quota = "∞" if tenant.gpu_quota is None else tenant.gpu_quota
        return f"{tenant.gpus_in_use} / {quota}"

    @admin.action(description="Suspend: read, but change nothing")
    def suspend(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_suspended(request, queryset, suspended=True)

    @admin.action(description="Resume")
    def resume(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_suspended(request, queryset, suspended=False)

    def _set_suspended(
        self, request: HttpRequest, queryset: QuerySet[Tenant], *, suspended: bool
    ) -> None:
        changed = queryset.exclude(suspended=suspended)
        for tenant in changed:
            services.tenant_update(
                caller_of(request), tenant, {"suspended": suspended}, timezone.now()
            )
        self.message_user(request, f"{len(changed)} tenants changed.")


@admin.register(Membership)
class MembershipAdmin(AuditedAdmin):
    list_display = ("user", "tenant", "role", "created_at")
    list_filter = ("role", "tenant")
    search_fields = ("user__username", "tenant__name")
    autocomplete_fields = ("tenant",)
    list_select_related = ("user", "tenant")


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin):  # type: ignore[misc]
    """Tokens are made here once and shown once; afterwards they can only end."""

    list_display = ("prefix", "name", "role", "tenant", "state", "expires_at", "last_used_at")
    list_filter = ("role", "tenant")
    search_fields = ("prefix", "name", "tenant__name")
    list_select_related = ("tenant",)
    fields = ("name", "role", "tenant", "user", "expires_at")
    autocomplete_fields = ("tenant",)
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

    def save_model(
        self, request: HttpRequest, obj: Any, form: "ModelForm[Any]", change: bool
    ) -> None:
        made = tokens.token_create(
            caller_of(request),
            name=obj.name,
            role=Role(obj.role),
            tenant_id=obj.tenant_id,
            user_id=obj.user_id,
            expires_at=obj.expires_at,
        )
        obj.pk = made.token.pk
        self._show(request, made)

    @admin.action(description="Rotate: a successor now, the old one ends in an hour")
    def rotate(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        overlap_s = int(OVERLAP.total_seconds())
        for token in queryset:
            try:
                with transaction.atomic():
                    made = tokens.token_rotate(
                        caller_of(request), token, overlap_s=overlap_s, now=timezone.now()
                    )
            except Problem as problem:
                self.message_user(request, f"{token}: {problem.text}", messages.ERROR)
            else:
                self._show(request, made)

    @admin.action(description="Revoke at once")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset:
            tokens.token_revoke(caller_of(request), token, timezone.now())
        self.message_user(request, f"{len(queryset)} tokens revoked.")

    def _show(self, request: HttpRequest, made: tokens.NewToken) -> None:
        text = f"Copy the secret of {made.token.name!r} now, it is not kept: {made.secret}"
        self.message_user(request, text, messages.WARNING)


@admin.register(AuditRow)
class AuditRowAdmin(ReadOnlyAdmin):
    list_display = ("at", "action", "object_type", "object_id", "tenant_id", "role", "token_id")
    list_filter = ("action", "object_type", "role")
    search_fields = ("request_id", "action", "=object_id", "=tenant_id", "=token_id")
    date_hierarchy = "at"
    ordering = ("-id",)
    show_full_result_count = False
