"""Shapes of tenants, memberships, tokens and audit rows."""

from decimal import Decimal

from django.db import models

from rest import fields
from rest.serializers import StrictModelSerializer, StrictSerializer
from tenancy.models import AuditRow, Membership, MembershipRole, Tenant
from tenancy.roles import Role


class TenantOut(StrictModelSerializer):
    class Meta:
        model = Tenant
        fields = (
            "id",
            "name",
            "display_name",
            "gpu_quota",
            "gpus_in_use",
            "weight",
            "energy_budget_wh",
            "suspended",
            "version",
            "created_at",
            "updated_at",
        )
        read_only_fields = fields


class TenantCreate(StrictSerializer):
    name = fields.Slug()
    display_name = fields.Text(max_length=200)
    gpu_quota = fields.Integer(min_value=0, max_value=1_000_000, allow_null=True, required=False)
    weight = fields.Amount(
        max_digits=9,
        decimal_places=3,
        sign=fields.Sign.POSITIVE,
        required=False,
        default=Decimal(1),
    )
    energy_budget_wh = fields.Integer(min_value=0, allow_null=True, required=False)


class TenantPatch(StrictSerializer):
    display_name = fields.Text(max_length=200, required=False)
    gpu_quota = fields.Integer(min_value=0, max_value=1_000_000, allow_null=True, required=False)
    weight = fields.Amount(
        max_digits=9, decimal_places=3, sign=fields.Sign.POSITIVE, required=False
    )
    energy_budget_wh = fields.Integer(min_value=0, allow_null=True, required=False)
    suspended = fields.Boolean(required=False)


class MembershipOut(StrictModelSerializer):
    username = fields.Text(source="user.username", read_only=True)
    tenant_id = fields.Integer(read_only=True)

    class Meta:
        model = Membership
        fields = ("id", "tenant_id", "username", "role", "version", "created_at")
        read_only_fields = fields


class MembershipCreate(StrictSerializer):
    tenant_id = fields.Integer(min_value=1, required=False)
    username = fields.Text(max_length=150)
    role = fields.Choice(MembershipRole.choices)


class MembershipPatch(StrictSerializer):
    role = fields.Choice(MembershipRole.choices)


class IssuedRole(models.TextChoices):
    """Roles that people hand out; node and attempt tokens come from registration and placement."""

    MEMBER = Role.MEMBER.value
    ADMIN = Role.ADMIN.value
    OPERATOR = Role.OPERATOR.value


class TokenOut(StrictSerializer):
    id = fields.Integer(read_only=True)
    prefix = fields.Text(read_only=True)
    name = fields.Text(read_only=True)
    role = fields.Choice([(role.value, role.value) for role in Role], read_only=True)
    tenant_id = fields.Integer(read_only=True, allow_null=True)
    user_id = fields.Integer(read_only=True, allow_null=True)
    created_at = fields.Instant(read_only=True)
    expires_at = fields.Instant(read_only=True, allow_null=True)
    revoked_at = fields.Instant(read_only=True, allow_null=True)
    last_used_at = fields.Instant(read_only=True, allow_null=True)
    rotated_from_id = fields.Integer(read_only=True, allow_null=True)


class TokenWithSecret(TokenOut):
    """`secret` is shown once; a replayed answer has null in its place."""

    secret = fields.Text(read_only=True, allow_null=True)


class TokenCreate(StrictSerializer):
    name = fields.Text(max_length=100)
    role = fields.Choice(IssuedRole.choices)
    tenant_id = fields.Integer(min_value=1, required=False)
    expires_at = fields.Instant(required=False, allow_null=True)


class TokenRotate(StrictSerializer):
    overlap_s = fields.Integer(min_value=0, max_value=7 * 86_400, required=False, default=3600)


class MeOut(StrictSerializer):
    token_id = fields.Integer(read_only=True)
    token_name = fields.Text(read_only=True)
    role = fields.Choice([(role.value, role.value) for role in Role], read_only=True)
    tenant_id = fields.Integer(read_only=True, allow_null=True)
    tenant_name = fields.Text(read_only=True, allow_null=True)
    suspended = fields.Boolean(read_only=True)
    expires_at = fields.Instant(read_only=True, allow_null=True)
    rights = fields.Items(child=fields.Text(), read_only=True)


class AuditRowOut(StrictModelSerializer):
    class Meta:
        model = AuditRow
        fields = (
            "id",
            "at",
            "token_id",
            "user_id",
            "role",
            "tenant_id",
            "action",
            "object_type",
            "object_id",
            "request_id",
            "changes",
        )
        read_only_fields = fields
