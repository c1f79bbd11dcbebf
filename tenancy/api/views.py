"""Resources of tenancy: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from rest.filters import BooleanFilter, ChoiceFilter, InstantFilter, IntegerFilter, TextFilter
from rest.problems import Conflict, Contradiction, Forbidden
from rest.resources import NamedResource
from rest.structs import given, show
from rest.version import VERSION
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
from tenancy import secrets, selectors, services, tokens
from tenancy.api import structs
from tenancy.callers import Caller
from tenancy.models import ApiToken, AuditRow, Membership, MembershipRole, Secret
from tenancy.roles import TENANT_ROLES, Role, rights_of


class TenantViewSet(NamedResource):
    """Who pays. Operators manage tenants; a tenant's own tokens read their tenant."""

    resource = "tenants"
    output = structs.TenantOut
    inputs = {"create": structs.TenantCreate, "partial_update": structs.TenantPatch}
    filters = {"name": TextFilter(), "suspended": BooleanFilter()}
    ordering_fields = ("id", "name", "created_at")
    etag_prefix = "tenant"
    services = services.TENANTS


class MembershipViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """People in tenants. A tenant's admins manage their own; `tenant_id` is for operators."""

    resource = "memberships"
    rights = crud_rights("memberships")
    output = structs.MembershipOut
    inputs = {"create": structs.MembershipCreate, "partial_update": structs.MembershipPatch}
    filters = {"tenant_id": IntegerFilter(), "role": ChoiceFilter(MembershipRole)}
    etag_prefix = "membership"

    def rows(self) -> QuerySet[Membership]:
        return selectors.memberships(self.caller)

    def perform_create(self, values: structs.MembershipCreate) -> Membership:
        return services.membership_create(
            self.caller,
            tenant_id=tenant_for(self.caller, values.tenant_id or None),
            username=values.username,
            role=values.role,
        )

    def perform_update(self, row: Membership, changes: dict[str, Any]) -> Membership:
        return services.membership_update(self.caller, row, **changes)

    def perform_destroy(self, row: Membership) -> None:
        services.membership_delete(self.caller, row)


class TokenViewSet(ListMixin, RetrieveMixin, CreateMixin, DestroyMixin):
    """Bearer tokens. The secret is shown once, when a token is made; only its hash is kept."""

    resource = "tokens"
    rights = {**crud_rights("tokens"), "rotate": "tokens.write"}
    output = structs.TokenOut
    inputs = {"create": structs.TokenCreate, "rotate": structs.TokenRotate}
    outputs = {"create": structs.TokenWithSecret, "rotate": structs.TokenWithSecret}
    statuses = {"rotate": 201}
    filters = {
        "tenant_id": IntegerFilter(),
        "role": ChoiceFilter(list(Role)),
        "revoked": BooleanFilter("revoked_at", "isnull", exclude=True),
    }
    secret_members = ("secret",)

    def rows(self) -> QuerySet[ApiToken]:
        return selectors.tokens(self.caller)

    def shown(self, row: ApiToken | tokens.NewToken) -> Any:
        if isinstance(row, tokens.NewToken):
            return show(structs.TokenWithSecret, row.token, secret=row.secret)
        return super().shown(row)

    def perform_create(self, values: structs.TokenCreate) -> tokens.NewToken:
        role, facts = Role(values.role), given(values)
        if role in TENANT_ROLES:
            facts["tenant_id"] = tenant_for(self.caller, facts.get("tenant_id"))
        elif self.caller.role != Role.OPERATOR:
            raise Forbidden("Only operators make operator tokens.", code="missing_right")
        elif "tenant_id" in facts:
            detail = "A token of this role belongs to no tenant; leave tenant_id out."
            raise Contradiction.at("/tenant_id", "tenant_not_allowed", detail)
        return tokens.token_create(self.caller, **{**facts, "role": role})

    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Make a successor with the same powers; the old token ends after `overlap_s` seconds."""
        values: structs.TokenRotate = self.input()

        def effect() -> Answer:
            successor = tokens.token_rotate(
                self.caller, self.row(), overlap_s=values.overlap_s, now=timezone.now()
            )
            return self.answer(successor, 201)

        return self.write(effect)

    def perform_destroy(self, row: ApiToken) -> None:
        """Revoke the token; it stays listed."""
        tokens.token_revoke(self.caller, row, timezone.now())


class SecretViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Named texts that jobs get as variables or files. A value is stored encrypted and never shown.

    A changed value reaches the attempts that start after it.
    """

    resource = "secrets"
    rights = crud_rights("secrets")
    output = structs.SecretOut
    inputs = {"create": structs.SecretCreate, "partial_update": structs.SecretPatch}
    filters = {"tenant_id": IntegerFilter(), "name": TextFilter()}
    ordering_fields = ("id", "name")
    etag_prefix = "secret"

    def rows(self) -> QuerySet[Secret]:
        return selectors.secrets(self.caller)

    def perform_create(self, values: structs.SecretCreate) -> Secret:
        return secrets.secret_create(
            self.caller,
            tenant_id=tenant_for(self.caller, values.tenant_id or None),
            name=values.name,
            value=values.value,
            now=timezone.now(),
        )

    def perform_update(self, row: Secret, changes: dict[str, Any]) -> Secret:
        return secrets.secret_update(self.caller, row, changes, timezone.now())

    def perform_destroy(self, row: Secret) -> None:
        secrets.secret_delete(self.caller, row)


class AuditViewSet(ListMixin, RetrieveMixin):
    """What was done, by whom, newest first."""

    resource = "audit"
    rights = crud_rights("audit")
    output = structs.AuditRowOut
    filters = {
        "tenant_id": IntegerFilter(),
        "token_id": IntegerFilter(),
        "action": TextFilter(),
        "object_type": TextFilter(),
        "object_id": IntegerFilter(),
        "since": InstantFilter("at", "gte"),
        "until": InstantFilter("at", "lt"),
    }
    ordering_fields = ("id", "at")

    def rows(self) -> QuerySet[AuditRow]:
        return selectors.audit_rows(self.caller)


class MeView(JSONView):
    """Who the token belongs to, and which rights it has."""

    resource = "me"
    rights = {"get": "me.read"}
    output = structs.MeOut

    def get(self, request: Request) -> HttpResponse:
        caller: Caller = self.caller
        told = {"rights": rights_of(caller.role), "service_version": VERSION}
        return respond(Answer(show(structs.MeOut, caller, **told)))


def tenant_for(caller: Caller, tenant_id: int | None) -> int:
    """Whose row this will be: a tenant's own by default, an operator must say."""
    wanted = caller.tenant_id if tenant_id is None else tenant_id
    if wanted is None:
        detail = "Say which tenant this is for."
        raise Contradiction.at("/tenant_id", "tenant_required", detail)
    if wanted != caller.tenant_id and not selectors.tenants(caller).filter(id=wanted).exists():
        raise Conflict.at("/tenant_id", "unknown_tenant", "There is no such tenant.")
    return wanted
