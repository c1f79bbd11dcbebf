"""Shapes of tenants, memberships, tokens and audit rows."""

from decimal import Decimal
from typing import Annotated, Any

from django.db import models
from msgspec import UNSET, Meta, UnsetType

from agent.wire.bounds import LONGEST_SECRET
from rest.names import SLUG
from rest.structs import (
    Count,
    From,
    Id,
    Input,
    Instant,
    Output,
    Sign,
    Slug,
    Version,
    amount,
    json_object,
    matching,
    patch_of,
    text,
)
from rest.structs.types import INT64_MAX
from tenancy.models import STORAGE_QUOTA_BYTES, MembershipRole
from tenancy.roles import Role

DisplayName = Annotated[str, text(200, example="Vision Lab")]
GpuQuota = Annotated[int, Meta(ge=0, le=1_000_000, examples=[64])]
Weight = Annotated[Decimal, amount(9, 3, sign=Sign.POSITIVE, example="1.500")]
WattHours = Annotated[int, Meta(ge=0, le=INT64_MAX, examples=[2_000_000])]
# As a job's own price is written.
MaxTardinessPrice = Annotated[
    Decimal,
    amount(
        14,
        6,
        pattern=r"^(0|[1-9][0-9]{0,7})(\.[0-9]{1,6})?$",
        example="0.500000",
        description="The most its jobs may name as tardiness_price_per_h; null is the cluster's.",
    ),
]
StorageQuota = Annotated[
    int,
    Meta(
        ge=0,
        le=INT64_MAX,
        description="What its archives and artifacts may take; null is unlimited.",
        examples=[STORAGE_QUOTA_BYTES],
    ),
]
TenantId = Annotated[int, Meta(ge=1, le=INT64_MAX)]
UserName = Annotated[str, text(150, example="ada")]
SecretName = Annotated[str, matching(SLUG, example="wandb-key")]
SecretText = Annotated[str, text(LONGEST_SECRET, example="not-a-real-key")]
TokenName = Annotated[str, text(100, example="nightly training")]


class TenantOut(Output, frozen=True):
    id: Id
    name: Annotated[str, Meta(examples=["vision-lab"])]
    display_name: DisplayName
    gpu_quota: GpuQuota | None
    gpus_in_use: Annotated[Count, Meta(examples=[12])]
    weight: Weight
    energy_budget_wh: WattHours | None
    max_tardiness_price_per_h: MaxTardinessPrice | None
    storage_quota_bytes: StorageQuota | None
    storage_used_bytes: Annotated[Count, Meta(examples=[734_003_200])]
    suspended: bool
    version: Version
    created_at: Instant
    updated_at: Instant


class TenantCreate(Input, frozen=True):
    name: Annotated[Slug, Meta(examples=["vision-lab"])]
    display_name: DisplayName
    gpu_quota: GpuQuota | UnsetType | None = UNSET
    weight: Weight = Decimal(1)
    energy_budget_wh: WattHours | UnsetType | None = UNSET
    max_tardiness_price_per_h: MaxTardinessPrice | UnsetType | None = UNSET
    storage_quota_bytes: StorageQuota | UnsetType | None = UNSET


TenantPatch = patch_of(TenantCreate, "TenantPatch", omit={"name"}, add={"suspended": bool})


class MembershipOut(Output, frozen=True):
    id: Id
    tenant_id: Id
    username: Annotated[UserName, From("user.username")]
    role: MembershipRole
    version: Version
    created_at: Instant


class MembershipCreate(Input, frozen=True):
    username: UserName
    role: MembershipRole
    tenant_id: TenantId | UnsetType = UNSET


MembershipPatch = patch_of(MembershipCreate, "MembershipPatch", omit={"username", "tenant_id"})


class IssuedRole(models.TextChoices):
    """Roles that people hand out; node and attempt tokens come from registration and placement."""

    MEMBER = Role.MEMBER.value
    ADMIN = Role.ADMIN.value
    OPERATOR = Role.OPERATOR.value


class TokenOut(Output, frozen=True):
    id: Id
    prefix: Annotated[str, Meta(examples=["fw_m_Q2xhdWRp"])]
    name: TokenName
    role: Role
    tenant_id: Id | None
    user_id: Annotated[Id | None, Meta(examples=[None])]
    created_at: Instant
    expires_at: Annotated[Instant | None, Meta(examples=["2026-07-31T00:00:00Z"])]
    revoked_at: Annotated[Instant | None, Meta(examples=[None])]
    last_used_at: Instant | None
    rotated_from_id: Annotated[Id | None, Meta(examples=[None])]


class TokenWithSecret(TokenOut, frozen=True):
    """`secret` is shown once; a replayed answer has null in its place."""

    secret: Annotated[str | None, Meta(examples=["fw_m_" + "x" * 43])]


class TokenCreate(Input, frozen=True):
    name: TokenName
    role: IssuedRole
    tenant_id: TenantId | UnsetType = UNSET
    expires_at: Annotated[Instant | UnsetType | None, Meta(examples=[None])] = UNSET


class TokenRotate(Input, frozen=True):
    overlap_s: Annotated[int, Meta(ge=0, le=7 * 86_400, examples=[3600])] = 3600


class MeOut(Output, frozen=True):
    token_id: Id
    token_name: TokenName
    role: Role
    tenant_id: Id | None
    tenant_name: Annotated[str | None, Meta(examples=["vision-lab"])]
    suspended: bool
    expires_at: Annotated[Instant | None, Meta(examples=["2026-07-31T00:00:00Z"])]
    rights: Annotated[list[str], Meta(examples=[["jobs.read", "jobs.submit"]])]
    service_version: Annotated[str, Meta(examples=["0.1.0"])]


class SecretOut(Output, frozen=True):
    """Its value is shown to nobody, not even once."""

    id: Id
    tenant_id: Id
    name: SecretName
    version: Version
    created_at: Instant
    updated_at: Instant


class SecretCreate(Input, frozen=True):
    name: SecretName
    value: SecretText
    tenant_id: TenantId | UnsetType = UNSET


class SecretPatch(Input, frozen=True):
    value: SecretText


class AuditRowOut(Output, frozen=True):
    id: Id
    at: Instant
    token_id: Id | None
    user_id: Annotated[Id | None, Meta(examples=[None])]
    role: Annotated[str, Meta(examples=["operator"])]
    tenant_id: Id | None
    action: Annotated[str, Meta(examples=["tenant.update"])]
    object_type: Annotated[str, Meta(examples=["tenant"])]
    object_id: Id | None
    request_id: Annotated[str, Meta(examples=["5f1c2a"])]
    changes: Annotated[dict[str, Any], json_object(example={"gpu_quota": 96})]
