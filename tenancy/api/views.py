"""Resources of tenancy: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from rest.problems import Conflict, Contradiction, Forbidden
from rest.serializers import represented
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    JSONView,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
    respond,
)
from tenancy import selectors, services, tokens
from tenancy.api import examples, filters, serializers
from tenancy.callers import Caller
from tenancy.models import ApiToken, AuditRow, Membership, Tenant
from tenancy.roles import TENANT_ROLES, Role, rights_of


class TenantViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Who pays. Operators manage tenants; a tenant's own tokens read their tenant."""

    resource = "tenants"
    rights = crud_rights("tenants")
    output = serializers.TenantOut
    inputs = {"create": serializers.TenantCreate, "partial_update": serializers.TenantPatch}
    examples = examples.TENANTS
    filterset_class = filters.TenantFilters
    ordering_fields = ("id", "name", "created_at")
    etag_prefix = "tenant"

    def rows(self) -> QuerySet[Tenant]:
        return selectors.tenants(self.caller)

    def perform_create(self, values: dict[str, Any]) -> Tenant:
        return services.tenant_create(self.caller, values)

    def perform_update(self, row: Tenant, changes: dict[str, Any]) -> Tenant:
        return services.tenant_update(self.caller, row, changes, timezone.now())

    def perform_destroy(self, row: Tenant) -> None:
        services.tenant_delete(self.caller, row)


class MembershipViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """People in tenants. A tenant's admins manage their own; `tenant_id` is for operators."""

    resource = "memberships"
    rights = crud_rights("memberships")
    output = serializers.MembershipOut
    inputs = {
        "create": serializers.MembershipCreate,
        "partial_update": serializers.MembershipPatch,
    }
    examples = examples.MEMBERSHIPS
    filterset_class = filters.MembershipFilters
    etag_prefix = "membership"

    def rows(self) -> QuerySet[Membership]:
        return selectors.memberships(self.caller)

    def perform_create(self, values: dict[str, Any]) -> Membership:
        tenant_id = tenant_for(self.caller, values.pop("tenant_id", None))
        return services.membership_create(self.caller, tenant_id=tenant_id, **values)

    def perform_update(self, row: Membership, changes: dict[str, Any]) -> Membership:
        return services.membership_update(self.caller, row, **changes)

    def perform_destroy(self, row: Membership) -> None:
        services.membership_delete(self.caller, row)


class TokenViewSet(ListMixin, RetrieveMixin, CreateMixin, DestroyMixin):
    """Bearer tokens. The secret is shown once, when a token is made; only its hash is kept."""

    resource = "tokens"
    rights = {**crud_rights("tokens"), "rotate": "tokens.write"}
    output = serializers.TokenOut
    inputs = {"create": serializers.TokenCreate, "rotate": serializers.TokenRotate}
    outputs = {"create": serializers.TokenWithSecret, "rotate": serializers.TokenWithSecret}
    statuses = {"rotate": 201}
    examples = examples.TOKENS
    filterset_class = filters.TokenFilters
    secret_members = ("secret",)

    def rows(self) -> QuerySet[ApiToken]:
        return selectors.tokens(self.caller)

    def shown(self, row: ApiToken | tokens.NewToken) -> Any:
        if isinstance(row, tokens.NewToken):
            shown = represented(serializers.TokenOut, row.token)
            return {**shown, "secret": row.secret}
        return super().shown(row)

    def perform_create(self, values: dict[str, Any]) -> tokens.NewToken:
        role = Role(values["role"])
        given = values.get("tenant_id")
        if role in TENANT_ROLES:
            values["tenant_id"] = tenant_for(self.caller, given)
        elif self.caller.role != Role.OPERATOR:
            raise Forbidden("Only operators make operator tokens.", code="missing_right")
        elif given is not None:
            detail = "A token of this role belongs to no tenant; leave tenant_id out."
            raise Contradiction.at("/tenant_id", "tenant_not_allowed", detail)
        return tokens.token_create(self.caller, **{**values, "role": role})

    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Make a successor with the same powers; the old token ends after `overlap_s` seconds."""
        values = self.input()

        def effect() -> Answer:
            successor = tokens.token_rotate(
                self.caller, self.row(), overlap_s=values["overlap_s"], now=timezone.now()
            )
            return self.answer(successor, 201)

        return self.write(effect)

    def perform_destroy(self, row: ApiToken) -> None:
        """Revoke the token; it stays listed."""
        tokens.token_revoke(self.caller, row, timezone.now())


class AuditViewSet(ListMixin, RetrieveMixin):
    """What was done, by whom, newest first."""

    resource = "audit"
    rights = crud_rights("audit")
    output = serializers.AuditRowOut
    examples = examples.AUDIT
    filterset_class = filters.AuditFilters
    ordering_fields = ("id", "at")

    def rows(self) -> QuerySet[AuditRow]:
        return selectors.audit_rows(self.caller)


class MeView(JSONView):
    """Who the token belongs to, and which rights it has."""

    resource = "me"
    rights = {"get": "me.read"}
    output = serializers.MeOut
    examples = examples.ME

    def get(self, request: Request) -> HttpResponse:
        caller: Caller = self.caller
        return respond(
            Answer(
                {
                    "token_id": caller.token_id,
                    "token_name": caller.token_name,
                    "role": caller.role,
                    "tenant_id": caller.tenant_id,
                    "tenant_name": caller.tenant_name,
                    "suspended": caller.suspended,
                    "expires_at": caller.expires_at,
                    "rights": rights_of(caller.role),
                }
            )
        )


def tenant_for(caller: Caller, tenant_id: int | None) -> int:
    """Whose row this will be: a tenant's own by default, an operator must say."""
    wanted = caller.tenant_id if tenant_id is None else tenant_id
    if wanted is None:
        detail = "Say which tenant this is for."
        raise Contradiction.at("/tenant_id", "tenant_required", detail)
    if wanted != caller.tenant_id and not selectors.tenants(caller).filter(id=wanted).exists():
        raise Conflict.at("/tenant_id", "unknown_tenant", "There is no such tenant.")
    return wanted
